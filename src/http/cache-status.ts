import type { CacheStatus } from '../proxy/answer.ts';

/** Renders `Cache-Status` (RFC 9211; a structured field by RFC 8941: all our details are tokens). */
export function renderCacheStatus(status: CacheStatus): string {
  let text = 'toncache';
  if (status.hit === true) text += '; hit';
  if (status.fwd !== undefined) text += `; fwd=${status.fwd}`;
  if (status.fwdStatus !== undefined) text += `; fwd-status=${status.fwdStatus}`;
  if (status.stored === true) text += '; stored';
  if (status.collapsed === true) text += '; collapsed';
  if (status.ttl !== undefined) text += `; ttl=${status.ttl}`;
  if (status.detail !== undefined) text += `; detail=${status.detail}`;
  return text;
}
