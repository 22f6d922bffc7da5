/**
 * The HTML of the Markdown that docs/ is written in: headings with their anchors, paragraphs, lists, tables, code, links,
 * emphasis. Anything else is shown as text, also HTML. `hrefOf`: the address of a link; `undefined` shows only its text.
 */
export function renderMarkdown(markdown: string, hrefOf: (target: string) => string | undefined): string {
  return blocks(markdown.split('\n'), hrefOf);
}

/** The anchor of a heading, as in its links: lower case, with hyphens for spaces, without punctuation. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

type HrefOf = Parameters<typeof renderMarkdown>[1];

const [FENCE, HEADING, ROW, ITEM] = [/^```/, /^(#{1,6}) (.*)$/, /^\|/, /^(?:([*-])|\d+\.) +/];

/** Lines that belong to none of the paragraphs around them. */
const COMMENT = /^<!--.*-->$/;

function blocks(lines: readonly string[], hrefOf: HrefOf): string {
  const html: string[] = [];
  const isBlock = (line = '') => line === '' || [FENCE, HEADING, ROW, ITEM, COMMENT].some((form) => form.test(line));
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    /** Takes the lines from here to the first that does not belong. */
    const take = (belongs: (line: string) => boolean) => {
      const from = at++;
      while (at < lines.length && belongs(lines[at] ?? '')) at++;
      return lines.slice(from, at);
    };
    const [, hashes = '', heading = ''] = HEADING.exec(line) ?? [];
    if (line === '' || COMMENT.test(line)) at++;
    else if (hashes !== '') {
      const level = hashes.length;
      html.push(`<h${level} id="${escaped(anchorOf(heading))}">${inline(heading, hrefOf)}</h${level}>`);
      at++;
    } else if (FENCE.test(line)) {
      const [, ...code] = take((next) => !FENCE.test(next));
      html.push(`<pre><code>${escaped(code.join('\n'))}</code></pre>`);
      at++;
    } else if (ROW.test(line))
      html.push(
        table(
          take((next) => ROW.test(next)),
          hrefOf,
        ),
      );
    else if (ITEM.test(line))
      html.push(
        list(
          take((next) => next === '' || /^ /.test(next) || ITEM.test(next)),
          hrefOf,
        ),
      );
    else html.push(`<p>${inline(take((next) => !isBlock(next)).join(' '), hrefOf)}</p>`);
  }
  return html.join('\n');
}

/** An item has what is indented below it. */
function list(lines: readonly string[], hrefOf: HrefOf): string {
  const [, bullet] = ITEM.exec(lines[0] ?? '') ?? [];
  const name = bullet === undefined ? 'ol' : 'ul';
  const items: string[][] = [];
  let indent = 0;
  for (const line of lines) {
    const [marker] = ITEM.exec(line) ?? [];
    if (marker === undefined) items.at(-1)?.push(line.slice(Math.min(indent, line.search(/\S|$/))));
    else {
      indent = marker.length;
      items.push([line.slice(indent)]);
    }
  }
  const rendered = items.map((item) => `<li>${blocks(item, hrefOf).replace(/^<p>(.*)<\/p>/, '$1')}</li>`);
  return `<${name}>${rendered.join('')}</${name}>`;
}

function table([head = '', rule = '', ...rows]: readonly string[], hrefOf: HrefOf): string {
  const cellsOf = (row: string) =>
    row
      .replace(/^\||\|\s*$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|'));
  const classes = cellsOf(rule).map((cell) => (cell.endsWith(':') ? ' class="number"' : ''));
  const rowOf = (row: string, open: string, close: string) => {
    const cells = cellsOf(row).map((cell, column) => `${open}${classes[column] ?? ''}>${inline(cell, hrefOf)}${close}`);
    return `<tr>${cells.join('')}</tr>`;
  };
  const body = rows.map((row) => rowOf(row, '<td', '</td>')).join('');
  return `<table><thead>${rowOf(head, '<th scope="col"', '</th>')}</thead><tbody>${body}</tbody></table>`;
}

/** Code, an image, a link, strong text, emphasis. */
const MARKS =
  /(?<ticks>`+)(?<code>.+?)\k<ticks>|!\[(?<image>[^\]]*)\]\([^)]*\)|\[(?<text>(?:`[^`]*`|[^\]`])*)\]\((?<target>[^()\s]+)\)|\*\*(?<strong>.+?)\*\*|\*(?!\s)(?<em>(?:`[^`]*`|[^*`])+)\*/g;

function inline(text: string, hrefOf: HrefOf): string {
  let html = '';
  let done = 0;
  for (const found of text.matchAll(MARKS)) {
    html += escaped(text.slice(done, found.index));
    done = found.index + found[0].length;
    const { code, image, text: linked, target = '', strong, em } = found.groups ?? {};
    if (code !== undefined) html += `<code>${escaped(code)}</code>`;
    else if (image !== undefined) html += escaped(image);
    else if (strong !== undefined) html += `<strong>${inline(strong, hrefOf)}</strong>`;
    else if (em !== undefined) html += `<em>${inline(em, hrefOf)}</em>`;
    else {
      const href = hrefOf(target);
      const shown = inline(linked ?? '', hrefOf);
      html += href === undefined ? shown : `<a href="${escaped(href)}">${shown}</a>`;
    }
  }
  return html + escaped(text.slice(done));
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
