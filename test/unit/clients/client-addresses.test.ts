import { isIP } from 'node:net';
import { assert, constantFrom, ipV4, ipV6, array as listOf, oneof, property, string as text } from 'fast-check';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { ClientAddresses } from '../../../src/clients/client-addresses.ts';

let untrusted: string[];
let unread: string[];
beforeEach(() => {
  untrusted = [];
  unread = [];
});

function behind(...trustedProxies: string[]): ClientAddresses {
  return new ClientAddresses({
    onUntrustedProxy: (address) => untrusted.push(address),
    onUnreadHeader: (address, header) => unread.push(`${address} ${header}`),
    trustedProxies,
  });
}

const of = (addresses: ClientAddresses, remoteAddress: string | undefined, forwardedFor?: string) =>
  addresses.of({ remoteAddress }, { 'x-forwarded-for': forwardedFor });

describe('the client of a connection', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    [undefined, ''],
  ])('is its address, or for IPv6 the first 64 bits: %s becomes %s', (address, client) => {
    expect(of(behind(), address)).toBe(client);
  });

  test('is not changed by an X-Forwarded-For from an untrusted address', () => {
    assert(
      property(oneof(ipV4(), text()), (forwardedFor) => {
        expect(of(behind('10.0.0.0/8'), '192.0.2.1', forwardedFor)).toBe('192.0.2.1');
      }),
    );
  });
});

describe('behind trusted proxies', () => {
  const addresses = behind('10.0.0.0/8', '127.0.0.1', 'fd00::/8');

  it.each([
    ['the proxy itself if it sends no X-Forwarded-For', undefined, '10.0.0.1'],
    ['the last address in the header', '192.0.2.9', '192.0.2.9'],
    ['not an earlier address, which the client wrote', '198.51.100.1, 192.0.2.9', '192.0.2.9'],
    ['the last address that is not a trusted proxy', '198.51.100.1, 192.0.2.9, 10.2.3.4,127.0.0.1', '192.0.2.9'],
    ['the first proxy if all are trusted', '10.0.0.7, 10.0.0.8', '10.0.0.7'],
    ['an address without its port', '192.0.2.9:4711', '192.0.2.9'],
    ['the network of an IPv6 address in brackets', '[2001:db8::9]:4711', '2001:db8:0:0'],
    ['the network of an IPv6 address in front of a trusted IPv6 proxy', '2001:db8::9, fd00::1', '2001:db8:0:0'],
    ['the IPv4 address in an IPv4-mapped IPv6 address', '::ffff:192.0.2.9', '192.0.2.9'],
    ['the proxy that wrote an entry which is not an address', '192.0.2.9, unknown', '10.0.0.1'],
    ['the proxy that wrote an empty entry', '192.0.2.9, , 10.0.0.2', '10.0.0.2'],
  ])('the client is %s', (_, forwardedFor, client) => {
    expect(of(addresses, '10.0.0.1', forwardedFor)).toBe(client);
  });

  test('the client is the address that the proxy adds, whatever entries the client sends', () => {
    const written = listOf(oneof(ipV4(), ipV6(), text(), constantFrom('10.0.0.1', '127.0.0.1', 'unknown', '')));
    const own = ipV4().filter((address) => isIP(address) === 4 && !/^(10|127\.0\.0\.1$)/.test(address));
    assert(
      property(written, own, (theirs, address) => {
        expect(of(addresses, '10.0.0.1', [...theirs, address].join(', '))).toBe(address);
      }),
    );
  });
});

describe('a forwarding proxy', () => {
  const ask = (addresses: ClientAddresses, times: number, address: string, forwardedFor?: string) => {
    for (let i = 0; i < times; i++) addresses.count({ remoteAddress: address }, { 'x-forwarded-for': forwardedFor });
  };

  test('is reported once, after 100 requests in a row, if it is not trusted', () => {
    const addresses = behind();
    ask(addresses, 99, '10.0.0.1', '192.0.2.9');
    expect(untrusted).toEqual([]);
    ask(addresses, 500, '10.0.0.1', '192.0.2.9');
    ask(addresses, 500, '10.0.0.2', '192.0.2.9');
    expect(untrusted).toEqual(['10.0.0.1']);
  });

  it.each([
    ['a request from another address', '10.0.0.2', '192.0.2.9'],
    ['a request without the header', '10.0.0.1', undefined],
  ])('is not reported if %s comes in between', (_, address, forwardedFor) => {
    const addresses = behind();
    for (let i = 0; i < 5; i++) {
      ask(addresses, 99, '10.0.0.1', '192.0.2.9');
      ask(addresses, 1, address, forwardedFor);
    }
    expect(untrusted).toEqual([]);
  });

  test('is not reported if it is trusted', () => {
    ask(behind('10.0.0.0/8'), 500, '10.0.0.1', '192.0.2.9');
    expect(untrusted).toEqual([]);
  });

  test('is also reported if it sends Forwarded instead', () => {
    const addresses = behind();
    for (let i = 0; i < 100; i++) addresses.count({ remoteAddress: '10.0.0.1' }, { forwarded: 'for=192.0.2.9' });
    expect([untrusted, unread]).toEqual([['10.0.0.1'], []]);
  });
});

describe('a proxy that names clients in headers other than X-Forwarded-For', () => {
  const countAll = (addresses: ClientAddresses, times: number, headers: Readonly<Record<string, string>>) => {
    for (let time = 0; time < times; time++) addresses.count({ remoteAddress: '10.0.0.1' }, headers);
  };

  it.each([
    [{ forwarded: 'for=192.0.2.9' }, 'Forwarded'],
    [{ 'x-real-ip': '192.0.2.9' }, 'X-Real-IP'],
    [{ 'cf-connecting-ip': '192.0.2.9' }, 'CF-Connecting-IP'],
    [{ 'x-forwarded-for': 'unknown', 'x-real-ip': '192.0.2.9' }, 'X-Forwarded-For without an address'],
  ])('counts as the client if it is trusted, and is reported once, after 100 requests: %j', (headers, header) => {
    const addresses = behind('10.0.0.0/8');
    expect(addresses.of({ remoteAddress: '10.0.0.1' }, headers)).toBe('10.0.0.1');
    countAll(addresses, 99, headers);
    expect(unread).toEqual([]);
    // Health checks by the proxy itself name no client: they neither count nor end the row.
    countAll(addresses, 50, {});
    countAll(addresses, 500, headers);
    expect([untrusted, unread]).toEqual([[], [`10.0.0.1 ${header}`]]);
  });

  it.each([
    ['it also sends X-Forwarded-For', { forwarded: 'for=192.0.2.9', 'x-forwarded-for': '192.0.2.9' }],
    ['it sends only health checks', {}],
  ])('is not reported if %s', (_, headers) => {
    countAll(behind('10.0.0.0/8'), 500, headers);
    expect([untrusted, unread]).toEqual([[], []]);
  });

  test('is reported as untrusted instead if it is not trusted', () => {
    countAll(behind('10.0.0.7'), 500, { 'x-real-ip': '192.0.2.9' });
    expect([untrusted, unread]).toEqual([['10.0.0.1'], []]);
  });
});
