import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';

const DEPLOY = new URL('../../config/deploy/', import.meta.url);

/** A file of `config/deploy/`. */
export function deployFile(path: string): string {
  return readFileSync(new URL(path, DEPLOY), 'utf8');
}

/** The documents of a YAML file of `config/deploy/`. Throws for what is not YAML, and for a key that is given twice. */
export function deployYaml<T>(path: string): T[] {
  return parseAllDocuments(deployFile(path), { prettyErrors: true, uniqueKeys: true }).map((document) => {
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) throw new Error(`${path}: ${error.message}`);
    return document.toJS() as T;
  });
}

/** The same of a file with one document. */
export function deployDocument<T>(path: string): T {
  return parse(deployFile(path), { uniqueKeys: true }) as T;
}

/** The lines `Name=value` of a systemd unit, in their order. */
export function unitEntries(path: string): readonly (readonly [name: string, value: string])[] {
  return [...deployFile(path).matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
}
