import { generateKeyPairSync, sign } from 'node:crypto';

/** The certificate of a TLS server, in PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const COMMON_NAME = '550403';
const SUBJECT_ALT_NAME = '551d11';
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';

/**
 * A self-signed certificate (RFC 5280) for a name and an IPv4 address, which expires at `until`: Node makes keys, but
 * no certificates.
 */
export function selfSignedCertificate(
  name: string,
  address: string,
  until: Date = new Date('2120-01-01T00:00:00Z'),
): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, objectId(ECDSA_WITH_SHA256));
  const names = der(SEQUENCE, der(SET, der(SEQUENCE, objectId(COMMON_NAME), der(0x0c, Buffer.from(name)))));
  const altNames = der(SEQUENCE, der(0x82, Buffer.from(name)), der(0x87, Buffer.from(address.split('.').map(Number))));
  const extensions = der(SEQUENCE, der(SEQUENCE, objectId(SUBJECT_ALT_NAME), der(0x04, altNames)));
  const toBeSigned = der(
    SEQUENCE,
    der(0xa0, integer(2)),
    integer(1),
    algorithm,
    names,
    der(
      SEQUENCE,
      der(0x17, Buffer.from('200101000000Z')),
      der(0x18, Buffer.from(until.toISOString().replace(/\.\d+|[-:T]/g, ''))),
    ),
    names,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, privateKey)]);
  const cert = der(SEQUENCE, toBeSigned, algorithm, der(0x03, signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${cert.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

/** One value by the distinguished encoding rules (X.690): tag, length, content. */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(length < 0x80 ? [tag, length] : [tag, ...long]), content]);
}

const objectId = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const integer = (value: number) => der(0x02, Buffer.from([value]));
