// Clients of `hedgerow serve`. What there is to ask and what is answered is in the generated types.

import createClient, { type Client } from "openapi-fetch";

import type { paths as IndexPaths } from "../generated/index.js";
import type { components, paths as RootPaths } from "../generated/root.js";

export type RootClient = Client<RootPaths>;
export type IndexClient = Client<IndexPaths>;

/** Why a request was not answered (RFC 9457): the `error` of every answer without `data`. */
export type Problem = components["schemas"]["ProblemDocument"];

/** A client of a server of a memory root. */
export function connectRoot(url: string, token: string): RootClient {
  return createClient<RootPaths>(options(url, token));
}

/** A client of a server of an index. */
export function connectIndex(url: string, token: string): IndexClient {
  return createClient<IndexPaths>(options(url, token));
}

function options(url: string, token: string) {
  // A redirect could lead anywhere, and the token with it.
  return { baseUrl: url, headers: { Authorization: `Bearer ${token}` }, redirect: "error" as const };
}
