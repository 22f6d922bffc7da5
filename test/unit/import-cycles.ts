import type { SourceFile } from './read-source.ts';

/** Each cycle of imports, of types too, once, as `a.ts -> b.ts -> a.ts`. */
export function cyclesIn(source: readonly SourceFile[]): string[] {
  const imports = new Map(source.map((file) => [file.path, file.imports.flatMap(({ path }) => path ?? [])]));
  const done = new Set<string>();
  const found: string[] = [];
  const follow = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
    if (trail.includes(path) || done.has(path)) return;
    for (const next of imports.get(path) ?? []) follow(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of source) follow(path, []);
  return found;
}
