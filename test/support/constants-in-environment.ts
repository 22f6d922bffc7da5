import { CONSTANTS, type Constants } from '../../src/compose/constants.ts';

type Replaced = { readonly [N in keyof Constants]?: Partial<Constants[N]> };

/** The environment of a process that runs with these constants: Node loads this file first, which replaces them. */
export function constantsInEnvironment(replaced: Replaced, nodeOptions = ''): Record<string, string> {
  return { NODE_OPTIONS: `${nodeOptions} --import ${import.meta.url}`, TEST_CONSTANTS: JSON.stringify(replaced) };
}

const replaced: Replaced = JSON.parse(process.env['TEST_CONSTANTS'] ?? '{}');
for (const [group, values] of Object.entries(replaced)) Object.assign(CONSTANTS[group as keyof Constants], values);
