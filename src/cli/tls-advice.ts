/**
 * Errors before TLS is established, in the words of OpenSSL and Node, each with a sentence of advice. By words, because
 * the client of Redis passes on no error code.
 */
const ADVICE: readonly (readonly [words: RegExp, sentence: string])[] = [
  [
    /(?:\S+:SSL routines:\S*:|TLS: )(?:wrong version number|packet length too long)(?::\S*\s*)?/,
    'it speaks no TLS: its address begins with http://, not https:// (of Redis: redis://, not rediss://)',
  ],
  [
    /(self-signed certificate(?: in certificate chain)?|unable to (?:get|verify)[^;:]*certificate)(?:;.*)?/,
    '$1: write the file of its certificate authority (PEM) into NODE_EXTRA_CA_CERTS (for Redis: REDIS_TLS_CA_FILE does as well)',
  ],
];

/** The reason of a failure, with advice about a server without TLS and about a certificate that Node does not trust. */
export function withTlsAdvice(reason: string): string {
  return ADVICE.reduce((text, [words, sentence]) => text.replace(words, sentence), reason);
}
