export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Replaces the text between the two marks of a name, `<!-- name -->` and `<!-- /name -->`; throws if a mark is missing.
 */
export function between(page: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no marks for ${name}`);
  return `${page.slice(0, from + start.length)}\n${content}\n${page.slice(to)}`;
}
