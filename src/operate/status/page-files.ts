import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';

/** A static file. */
export interface PageFile {
  readonly contentType: string;
  readonly body: Buffer;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const require = createRequire(import.meta.url);

/** Reads all files of the page, by path. Throws if the installation lacks one. */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  const page = join(import.meta.dirname, 'page');
  const uplot = dirname(require.resolve('uplot'));
  const file = (path: string, from: string): [string, PageFile] => [
    path,
    { contentType: CONTENT_TYPES[extname(from)] ?? 'application/octet-stream', body: readFileSync(from) },
  ];
  return new Map([
    file('/', join(page, 'index.html')),
    ...readdirSync(page).map((name) => file(`/status/${name}`, join(page, name))),
    file('/uplot.js', join(uplot, 'uPlot.esm.js')),
    file('/uplot.css', join(uplot, 'uPlot.min.css')),
  ]);
}
