import { closeSync, openSync } from 'node:fs';

/** The system's errors when descriptors, buffers, memory or local ports are used up. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAI_MEMORY']);

/**
 * True if an error shows that this machine lacks a resource, and therefore nothing about the host; of several errors,
 * all of them.
 */
export function isShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isShortage);
  return ('code' in error && SHORTAGES.has(String(error.code))) || isShortage(error.cause);
}

let lastResidentBytes = 0;

/**
 * The resident memory of this process in bytes; the last one that was read if it cannot be read now, at first 0. On Linux
 * reading it opens a file.
 */
export function residentBytes(): number {
  try {
    lastResidentBytes = process.memoryUsage.rss();
  } catch (error) {
    if (!isShortage(error)) throw error;
  }
  return lastResidentBytes;
}

/**
 * The system's error if this process can open no file now; otherwise `undefined`. A look-up of a name needs a file, and
 * reports "no such name" without one.
 */
export function shortageOfFiles(): unknown {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return undefined;
  } catch (error) {
    return isShortage(error) ? error : undefined;
  }
}
