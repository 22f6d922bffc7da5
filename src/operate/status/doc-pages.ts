import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { anchorOf, escaped, renderMarkdown } from './markdown.ts';

/** The same place in the sources, in the npm package and in the image. */
const DOCS = join(import.meta.dirname, '../../../docs');

const [INDEX, INCIDENTS] = ['README.md', 'incidents.md'];

/**
 * The pages of docs/ as HTML, by path below docs/ (the index also by ''), and each section of docs/incidents.md by its
 * anchor. A page is made at each call. Throws if the installation lacks docs/incidents.md.
 */
export function docPages(): ReadonlyMap<string, () => string> {
  const names = readdirSync(DOCS, { recursive: true, encoding: 'utf8' });
  const files = new Set(names.filter((name) => name.endsWith('.md')));
  const read = (name: string) => readFileSync(join(DOCS, name), 'utf8');
  const sections = sectionsOf(read(INCIDENTS));
  /** Links to files that are not served, such as sources, show only their text. */
  const hrefFrom = (name: string) => (target: string) => {
    const [path = ''] = target.split('#');
    if (/^https?:/.test(target) || path === '') return target;
    return files.has(posix.join(posix.dirname(name), path)) ? target : undefined;
  };
  const pages = [...files].map((name) => [name, () => page(name, read(name), hrefFrom(name))] as const);
  const incidents = hrefFrom(INCIDENTS);
  const ownHref = (target: string) => (sections.has(target.slice(1)) ? target.slice(1) : incidents(target));
  const steps = [...sections].map(([anchor, section]) => [anchor, () => page(anchor, section, ownHref)] as const);
  return new Map([['', () => page(INDEX, read(INDEX), hrefFrom(INDEX))], ...pages, ...steps]);
}

/** Each section by its anchor, with its heading as that of a page. */
function sectionsOf(markdown: string): ReadonlyMap<string, string> {
  const parts = markdown.split(/^##+ /m).slice(1);
  return new Map(parts.map((part) => [anchorOf(part.slice(0, part.indexOf('\n'))), `# ${part}`]));
}

function page(name: string, markdown: string, hrefOf: (target: string) => string | undefined): string {
  const [, title = name] = /^# (.*)$/m.exec(markdown) ?? [];
  const status = '../'.repeat(name.split('/').length);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escaped(title)} – toncache</title>
    <link rel="icon" href="${status}icon.svg" />
    <link rel="stylesheet" href="${status}status.css" />
    <link rel="stylesheet" href="${status}docs.css" />
  </head>
  <body>
    <nav aria-label="toncache">
      <a href="${status}../">Status</a>
      <a href="${status}docs/incidents.md">All incidents</a>
      <a href="${status}docs/README.md">All pages</a>
    </nav>
    <main>
${renderMarkdown(markdown, hrefOf)}
    </main>
  </body>
</html>
`;
}
