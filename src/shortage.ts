import { closeSync, openSync } from 'node:fs';

/** What the system says where descriptors, buffers, memory or local ports are used up. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAI_MEMORY']);

/** Whether an error says that this machine lacks something, and so nothing about the host that was called; of several, all. */
export function isShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isShortage);
  return ('code' in error && SHORTAGES.has(String(error.code))) || isShortage(error.cause);
}

/**
 * The system's error if this process can open no file now; otherwise `undefined`. A look-up of a name needs one, and says
 * "no such name" without.
 */
export function shortageOfFiles(): unknown {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return undefined;
  } catch (error) {
    return isShortage(error) ? error : undefined;
  }
}
