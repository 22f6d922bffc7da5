import { Marked } from 'marked';

/**
 * The HTML of a page of docs/: headings have the anchors of their links, and HTML is shown as text. `hrefOf`: the address
 * of a link; `undefined` shows only its text.
 */
export function renderMarkdown(markdown: string, hrefOf: (target: string) => string | undefined): string {
  const marked = new Marked({
    renderer: {
      heading({ tokens, text, depth }) {
        return `<h${depth} id="${escaped(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href: target, tokens }) {
        const href = hrefOf(target);
        const shown = this.parser.parseInline(tokens);
        return href === undefined ? shown : `<a href="${escaped(href)}">${shown}</a>`;
      },
      image: ({ text }) => escaped(text),
      html: ({ text }) => (COMMENT.test(text.trim()) ? '' : escaped(text)),
    },
  });
  // Synchronous without extensions.
  return marked.parse(markdown, { async: false });
}

/** The anchor of a heading, as in its links: lower case, with hyphens for spaces, without punctuation. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

const COMMENT = /^<!--.*-->$/s;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
