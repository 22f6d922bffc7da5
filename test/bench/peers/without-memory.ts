import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// Node loads this file before toncache, which it starts in its folder: memory keeps nothing, so every hit reads Redis.
const { MemoryTier }: typeof import('../../../src/cache/memory-tier.ts') = await import(
  pathToFileURL(resolve('src/cache/memory-tier.ts')).href
);
MemoryTier.prototype.set = () => false;
