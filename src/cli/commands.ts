import type { Command } from './command.ts';

/** A command in the list. Its file is loaded when it is run. */
export interface ListedCommand {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** All commands, in the order of the help. */
export const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map([
  ['start', { summary: 'run toncache', load: async () => (await import('./start.ts')).start }],
  [
    'check-config',
    { summary: 'check the settings', load: async () => (await import('./check-config.ts')).checkConfig },
  ],
  ['explain', { summary: 'say how a request is cached', load: async () => (await import('./explain.ts')).explain }],
  ['purge', { summary: 'end stored answers', load: async () => (await import('./purge.ts')).purge }],
  ['top', { summary: 'watch a running instance', load: async () => (await import('./top.ts')).top }],
  ['verify', { summary: 'check toncache against an indexer', load: async () => (await import('./verify.ts')).verify }],
  ['simulator', { summary: 'run a simulated indexer', load: async () => (await import('./simulator.ts')).simulator }],
  ['demo', { summary: 'see it at work, without an indexer', load: async () => (await import('./demo.ts')).demo }],
]);
