import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** The pages with commands and examples that a reader may paste. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...['docs', 'docs/start', 'docs/how-to', 'docs/reference', 'docs/background'].flatMap(pagesIn),
];

function pagesIn(folder: string): string[] {
  const names = readdirSync(new URL(`${folder}/`, ROOT)).filter((name) => name.endsWith('.md'));
  return names.map((name) => `${folder}/${name}`);
}

/** A fenced block of a page. */
export interface CodeBlock {
  /** `sh`, `yaml` and so on; empty if the page names none. */
  readonly language: string;
  readonly text: string;
}

export function readPage(page: string): string {
  return readFileSync(new URL(page, ROOT), 'utf8');
}

export function codeBlocksOf(markdown: string): CodeBlock[] {
  const blocks = markdown.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm);
  return [...blocks].map(([, , language = '', text = '']) => ({ language, text }));
}

/**
 * The commands of a page, without comments at the end of a line: lines of its shell blocks, split at `&&`, and inline code
 * that begins with a program of the pages.
 */
export function commandsOf(markdown: string): string[] {
  const shell = codeBlocksOf(markdown).filter(({ language }) => language === 'sh' || language === 'console');
  const lines = shell.flatMap(({ text }) =>
    text
      .replaceAll('\\\n', '')
      .replaceAll(/ +# .*/g, '')
      .split('\n'),
  );
  const prose = markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '');
  const inline = [
    ...prose.matchAll(
      /`((?:[A-Z_]+=\S+ )*(?:(?:npm|npx|curl|docker|systemctl|redis-cli|kubectl|helm) [^`]+|\.ci\/run))`/g,
    ),
  ];
  const commands = [...lines, ...inline.map(([, command = '']) => command)].flatMap((line) => line.split(' && '));
  return [...new Set(commands.map((command) => command.trim().replaceAll(/\s+/g, ' ')))].filter(
    (command) => command !== '' && !command.startsWith('#'),
  );
}
