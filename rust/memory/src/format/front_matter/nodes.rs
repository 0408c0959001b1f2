//! A YAML block as a tree of nodes, with the positions that edits need.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use crate::text;

/// The most characters of a block that is read.
pub const LIMIT: usize = 64 * 1024;

/// The most that lists and mappings nest, with aliases written out.
pub const DEPTH_LIMIT: usize = 100;

/// The most that a block may come to with its aliases written out: its characters, and one more for
/// each value. A block without aliases is always below that.
pub const EXPANDED_LIMIT: usize = 4 * LIMIT;

/// The reason for which a block is not valid YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// A short text for the user.
    pub problem: String,
    /// The line in the block, counted from 0.
    pub line: Option<usize>,
    /// Whether the syntax is valid, but aliases expand to too much.
    pub is_of_aliases: bool,
}

impl YamlError {
    pub(super) fn new(problem: impl Into<String>, line: Option<usize>) -> Self {
        Self {
            problem: problem.into(),
            line,
            is_of_aliases: false,
        }
    }

    fn of_aliases(problem: impl Into<String>) -> Self {
        Self {
            is_of_aliases: true,
            ..Self::new(problem, None)
        }
    }

    fn of_parser(error: &ScanError, block: &str) -> Self {
        // The parser reports the end of the block as a separate line.
        let last = block.matches('\n').count();
        let line = error.marker().line().saturating_sub(1).min(last);
        Self::new(error.info(), Some(line))
    }
}

/// The parts of a node.
pub enum NodeContent<'a> {
    /// A text, and whether it is written without quotes.
    Scalar { text: Cow<'a, str>, is_plain: bool },
    /// The nodes of a list.
    List(Vec<usize>),
    /// The nodes of keys and values.
    Mapping(Vec<(usize, usize)>),
}

/// A value. An alias is the node of its anchor.
pub struct Node<'a> {
    pub content: NodeContent<'a>,
    /// The suffix of a core tag (`!!int`), `!` alone, or a tag that is not known.
    pub tag: Option<String>,
    /// Whether an anchor or a tag precedes the value.
    pub has_properties: bool,
    /// Whether a collection is written in brackets.
    pub is_flow: bool,
    /// The range in the block, in bytes. That of a block collection ends where the next token begins.
    pub start: usize,
    pub end: usize,
    /// The column of the start, and its line, both from 0.
    pub column: usize,
    pub line: usize,
    /// The characters and values in it, and the nesting, with aliases written out.
    size: usize,
    depth: usize,
}

/// The nodes of a block; `root` is None for one without a value.
pub struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    pub root: Option<usize>,
    /// The reason for which the aliases of the block cannot be written out.
    pub problem: Option<YamlError>,
}

impl<'a> Tree<'a> {
    /// Parse a block. Takes linear time.
    pub fn parse(block: &'a str) -> Result<Self, YamlError> {
        check_size(block)?;
        check_characters(block)?;
        let mut builder = Builder::new(block);
        let mut parser = Parser::new_from_str(block);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| YamlError::of_parser(&error, block))?;
            builder.add(event, span)?;
        }
        Ok(Self {
            nodes: builder.nodes,
            root: builder.root,
            problem: builder.problem,
        })
    }

    /// The text of a scalar; None for a collection.
    pub fn text(&self, node: usize) -> Option<&str> {
        match &self.nodes[node].content {
            NodeContent::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Reject a block that is too long, or in which brackets nest too deep.
fn check_size(block: &str) -> Result<(), YamlError> {
    if block.len() > LIMIT && text::length(block) > LIMIT {
        let problem = format!("it is longer than {} KiB", LIMIT / 1024);
        return Err(YamlError::new(problem, None));
    }
    if bracket_depth(block) > DEPTH_LIMIT {
        return Err(too_deep());
    }
    Ok(())
}

fn too_deep() -> YamlError {
    let problem = format!("it is nested too deep: at most {DEPTH_LIMIT} levels");
    YamlError::new(problem, None)
}

/// Return the nesting of brackets. The parser takes quadratic time for open ones.
///
/// Brackets in quotes and comments count too: no block that people write has this many.
fn bracket_depth(block: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in block.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Reject control characters, which YAML does not allow outside of escapes.
fn check_characters(block: &str) -> Result<(), YamlError> {
    let is_refused = |character: char| {
        let is_control =
            character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{85}');
        is_control || matches!(character, '\u{fffe}' | '\u{ffff}')
    };
    match block.find(is_refused) {
        None => Ok(()),
        Some(at) => {
            let line = block[..at].matches('\n').count();
            Err(YamlError::new("it has a control character", Some(line)))
        }
    }
}

/// A collection whose end has not been read.
struct OpenCollection {
    node: usize,
    anchor: usize,
    key: Option<usize>,
}

/// Builds the tree from the events of the parser.
struct Builder<'a> {
    block: &'a str,
    /// The offset in bytes of each character that the parser reads; empty if it is the same.
    offsets: Vec<usize>,
    nodes: Vec<Node<'a>>,
    open: Vec<OpenCollection>,
    /// The node of each anchor; None while it is open.
    anchors: HashMap<usize, Option<usize>>,
    root: Option<usize>,
    documents: usize,
    problem: Option<YamlError>,
}

impl<'a> Builder<'a> {
    fn new(block: &'a str) -> Self {
        let is_ascii = block.is_ascii();
        let offsets = block.char_indices().map(|(at, _)| at);
        Self {
            block,
            offsets: if is_ascii {
                Vec::new()
            } else {
                offsets.collect()
            },
            nodes: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            documents: 0,
            problem: None,
        }
    }

    /// The offset in bytes of a position that the parser counts in characters.
    fn offset(&self, index: usize) -> usize {
        let end = self.block.len();
        if self.offsets.is_empty() {
            return index.min(end);
        }
        self.offsets.get(index).copied().unwrap_or(end)
    }

    fn add(&mut self, event: Event<'a>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let line = span.start.line().saturating_sub(1);
                    return Err(YamlError::new("it is more than one document", Some(line)));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let text = self.scalar_text(text, style, span);
                let is_plain = style == ScalarStyle::Plain;
                let node = self.node(NodeContent::Scalar { text, is_plain }, anchor, tag, span);
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    let node = &mut self.nodes[node];
                    node.start = block_scalar_start(self.block, node.start);
                }
                self.close(node, anchor);
            }
            Event::SequenceStart(anchor, tag) => {
                self.start(NodeContent::List(Vec::new()), anchor, tag, span)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.start(NodeContent::Mapping(Vec::new()), anchor, tag, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(anchor) => self.alias(anchor),
            _ => {}
        }
        Ok(())
    }

    fn scalar_text(&self, text: Cow<'a, str>, style: ScalarStyle, span: Span) -> Cow<'a, str> {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if is_block && self.offset(span.end.index()) == self.block.len() {
            let last_line = self.block.rsplit('\n').next().unwrap_or("");
            if !text::is_blank(last_line) {
                // The parser adds the line end that the last line of the block does not have.
                return text.strip_suffix('\n').unwrap_or(&text).to_owned().into();
            }
        }
        text
    }

    fn node(
        &mut self,
        content: NodeContent<'a>,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        span: Span,
    ) -> usize {
        let size = match &content {
            NodeContent::Scalar { text, .. } => 1 + text::length(text),
            _ => 1,
        };
        let depth = usize::from(!matches!(content, NodeContent::Scalar { .. }));
        self.nodes.push(Node {
            content,
            has_properties: anchor > 0 || tag.is_some(),
            is_flow: depth > 0 && !span.is_empty(),
            tag: tag.map(|tag| tag_name(&tag)),
            start: self.offset(span.start.index()),
            end: self.offset(span.end.index()),
            column: span.start.col(),
            line: span.start.line().saturating_sub(1),
            size,
            depth,
        });
        self.nodes.len() - 1
    }

    fn start(
        &mut self,
        content: NodeContent<'a>,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        span: Span,
    ) -> Result<(), YamlError> {
        if self.open.len() == DEPTH_LIMIT {
            return Err(too_deep());
        }
        let is_list = matches!(content, NodeContent::List(_));
        let node = self.node(content, anchor, tag, span);
        if is_list && !self.nodes[node].is_flow {
            self.move_to_dash(node);
        }
        if anchor > 0 {
            self.anchors.insert(anchor, None);
        }
        self.open.push(OpenCollection {
            node,
            anchor,
            key: None,
        });
        Ok(())
    }

    /// Move the start of a list to its first dash: of one that is not indented, the parser reports the
    /// position behind it.
    fn move_to_dash(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        if !self.block[node.start..].starts_with("- ")
            && let Some(dash) = self.block[..node.start].rfind('-')
        {
            let line = self.block[..dash]
                .rfind('\n')
                .map_or(0, |newline| newline + 1);
            node.start = dash;
            node.column = text::length(&self.block[line..dash]);
        }
    }

    fn end(&mut self, span: Span) {
        if let Some(open) = self.open.pop() {
            self.nodes[open.node].end = self.offset(span.end.index());
            self.close(open.node, open.anchor);
        }
    }

    fn alias(&mut self, anchor: usize) {
        if let Some(node) = self.anchors.get(&anchor).copied().flatten() {
            self.attach(node);
            return;
        }
        let problem = "an alias is inside its own anchor";
        self.problem.get_or_insert(YamlError::of_aliases(problem));
        // The value needs a placeholder, or keys would become values.
        let nothing = NodeContent::Scalar {
            text: Cow::Borrowed(""),
            is_plain: true,
        };
        let node = self.node(nothing, 0, None, Span::default());
        self.attach(node);
    }

    /// Add a node that has been read to the end.
    fn close(&mut self, node: usize, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, Some(node));
        }
        self.attach(node);
    }

    fn attach(&mut self, node: usize) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let parent = open.node;
        match &mut self.nodes[parent].content {
            NodeContent::List(items) => items.push(node),
            NodeContent::Mapping(entries) => match open.key.take() {
                None => open.key = Some(node),
                Some(key) => entries.push((key, node)),
            },
            NodeContent::Scalar { .. } => {}
        }
        let (size, depth) = (self.nodes[node].size, self.nodes[node].depth);
        let parent = &mut self.nodes[parent];
        parent.size = parent.size.saturating_add(size);
        parent.depth = parent.depth.max(depth + 1);
        if parent.size > EXPANDED_LIMIT {
            let limit = EXPANDED_LIMIT / 1024;
            let problem = format!("with its aliases written out it is longer than {limit} KiB");
            self.problem.get_or_insert(YamlError::of_aliases(problem));
        } else if parent.depth > DEPTH_LIMIT {
            self.problem.get_or_insert(too_deep());
        }
    }
}

/// The offset of the `|` or `>` of a block scalar whose first line of text is at an offset.
fn block_scalar_start(block: &str, text: usize) -> usize {
    if block[text..].starts_with(['|', '>']) && text == block.len() - 1 {
        return text;
    }
    let line = block[..text].rfind('\n').unwrap_or(0);
    // Blank lines may precede the text.
    let header = block[..line].trim_end();
    let line = header.rfind('\n').map_or(0, |newline| newline + 1);
    let header = &header[line..];
    let header = header
        .find(" #")
        .map_or(header, |comment| &header[..comment]);
    header.rfind(['|', '>']).map_or(text, |sign| line + sign)
}

fn tag_name(tag: &Tag) -> String {
    if tag.is_yaml_core_schema() {
        tag.suffix.clone()
    } else {
        // Not the name of a core tag.
        format!("!{}{}", tag.handle.trim_start_matches('!'), tag.suffix)
    }
}
