// The client against real servers, whose addresses and token are in the environment.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { connectIndex, connectRoot, type Problem } from "../src/client.js";

function given(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

const token = given("HEDGEROW_TOKEN");
const root = connectRoot(given("ROOT_URL"), token);
const index = connectIndex(given("INDEX_URL"), token);

test("an index is searched, and says why", async () => {
  const body = { query: "winter", limit: 3, explain: true };
  const { data } = await index.POST("/v1/search", { body });
  assert.ok(data);
  const [hit] = data.results;
  assert.equal(hit?.id, "a");
  assert.equal(hit?.tags[0], "animal");
  assert.ok((hit?.highlights?.content.length ?? 0) > 0);
  assert.equal(data.trace.mode, "bm25");
  const why = await index.POST("/v1/why_not", { body: { query: "winter", id: "c" } });
  assert.equal(why.data?.cut, "no_match");
});

test("a speaker who asks counts more, and says so", async () => {
  const chunks = ["Ann", "Bo"].map((speaker, ordinal) => ({
    id: `talk/${speaker}`,
    path: "talk.md",
    ordinal,
    content: "My medlar flowers.",
    metadata: { speaker, role: "user" },
  }));
  await index.POST("/v1/chunks", { body: { chunks } });
  const body = { query: "my medlar", asker: "Bo", group_by: null, explain: true };
  const { data } = await index.POST("/v1/search", { body });
  const [hit] = data?.results ?? [];
  assert.equal(hit?.metadata["role"], "user");
  const speaker = hit?.explanation?.speaker;
  assert.equal(speaker?.because, "first_person");
  assert.equal(speaker.contribution, 0.6);
});

test("chunks are written and read", async () => {
  const chunks = [{ id: "ts/1", path: "ts.md", content: "Written by Node: žluťoučký 树篱" }];
  const written = await index.POST("/v1/chunks", { body: { chunks } });
  assert.equal(written.data?.upserted, 1);
  const read = await index.GET("/v1/chunks/{id}", { params: { path: { id: "ts/1" } } });
  assert.equal(read.data?.content, "Written by Node: žluťoučký 树篱");
});

test("a root recalls, and remembers once however often it is told", async () => {
  const { data } = await root.POST("/v1/recall", { body: { query: "slugs" } });
  assert.equal(data?.results[0]?.provenance.file, "notes/slugs.md");
  const header = { "Idempotency-Key": randomUUID() };
  const body = { text: "Moles dig.", title: "Moles" };
  const asked = { body, params: { header } };
  const [one, two] = [await root.POST("/v1/remember", asked), await root.POST("/v1/remember", asked)];
  assert.ok(one.data?.file);
  assert.equal(one.data.file, two.data?.file);
});

test("an edit of another text is refused with the present one", async () => {
  const path = { key: "notes/slugs.md" };
  const read = await root.GET("/v1/memories/{key}", { params: { path } });
  assert.ok(read.data);
  const header = { "If-Match": '"of another text"' };
  const refused = await root.PUT("/v1/memories/{key}", { body: { text: "x" }, params: { path, header } });
  const problem: Problem | undefined = refused.error;
  assert.equal(refused.response.status, 409);
  assert.equal(problem?.code, "file_changed");
});

test("errors are problems", async () => {
  const { error, response } = await root.POST("/v1/query", { body: { pipeline: "all | nothing" } });
  assert.equal(response.status, 400);
  assert.equal(error?.code, "invalid_pipeline");
  const stranger = connectRoot(given("ROOT_URL"), "x".repeat(40));
  const refused = await stranger.GET("/v1/status");
  assert.equal(refused.error?.code, "unauthorized");
});
