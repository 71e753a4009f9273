import type { AllowedHost, ResolveHost } from '../../src/security/network/destinations.ts'

export type Reached = 'reached' | 'refused'

/** By what they may reach: `fetch` all that is public and what is listed, a `browser` all that is public, a tool what it `declared`. */
export type Policy = 'fetch' | 'browser' | 'declared'

export interface EgressCase {
  url: string
  expected: Record<Policy, Reached>
}

/**
 * One list of destinations for every way out of the program. In the world of `egress-world.ts` each of these addresses
 * exists and answers, the forbidden ones too: what is not reached was refused.
 */
export const publicAddress = '93.184.216.34'
export const publicAddresses = [publicAddress, '93.184.216.99', '2606:2800:220:1::1']
export const privateAddresses = [
  ...[
    '10.0.0.5',
    '10.0.0.7',
    '10.0.0.8',
    '172.16.0.5',
    '192.168.1.5',
    '100.64.0.5',
    '169.254.169.254',
    '198.18.0.5',
    '192.0.2.5',
  ],
  ...['fd00:ec2::254', '2001:db8::5', '64:ff9b::7f00:1', '2002:7f00:1::1'],
]
export const ports = [80, 8080]

const names: Record<string, string[]> = {
  'public.test': [publicAddress],
  'other.test': [publicAddress],
  'ported.test': [publicAddress],
  'six.test': ['2606:2800:220:1::1'],
  'wild.test': [publicAddress],
  'sub.wild.test': [publicAddress],
  'deep.sub.wild.test': [publicAddress],
  'xn--bcher-kva.test': [publicAddress],
  'evilpublic.test': [publicAddress],
  'public.test.evil.test': [publicAddress],
  'private.test': ['10.0.0.5'],
  'loop.test': ['127.0.0.1'],
  'loop6.test': ['::1'],
  'metadata.test': ['169.254.169.254'],
  'metadata6.test': ['fd00:ec2::254'],
  'shared.test': ['100.64.0.5'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'nat64.test': ['64:ff9b::7f00:1'],
  'sixtofour.test': ['2002:7f00:1::1'],
  'mixed.test': [publicAddress, '127.0.0.1'],
  'nowhere.test': [],
  localhost: ['127.0.0.1'],
}

/** The declarations of a tool. Names of private addresses are among them: declaring is not enough. */
export const declaredHosts = [
  ...['public.test', '*.wild.test', 'ported.test:8080', 'six.test', 'bücher.test', '93.184.216.99'],
  ...['private.test', 'loop.test', 'loop6.test', 'metadata.test', 'metadata6.test', 'shared.test', 'mapped.test'],
  ...['nat64.test', 'sixtofour.test', 'mixed.test', 'nowhere.test', 'localhost', 'first.test', 'later.test'],
  ...['127.0.0.1', '10.0.0.5', '169.254.169.254', '[::1]', '[fd00:ec2::254]', '10.0.0.7:8080'],
]
/** The owner's list in the config. */
export const listedHosts: AllowedHost[] = [{ host: '10.0.0.7', port: 8080 }, { host: '10.0.0.8' }]

/** Names that lead elsewhere when they are asked for again: from the check to the connection, or the other way round. */
const changing: Record<string, [string, string]> = {
  'later.test': [publicAddress, '127.0.0.1'],
  'first.test': ['127.0.0.1', publicAddress],
}

export function createTableResolver(): ResolveHost {
  const asked = new Set<string>()
  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    const change = changing[name]
    const addresses = change ? [change[asked.has(name) ? 1 : 0]] : names[name]
    asked.add(name)
    if (!addresses) throw Object.assign(new Error(`${name} is not known`), { code: 'ENOTFOUND' })
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

const everywhere: EgressCase['expected'] = { fetch: 'reached', browser: 'reached', declared: 'reached' }
const nowhere: EgressCase['expected'] = { fetch: 'refused', browser: 'refused', declared: 'refused' }
const undeclared: EgressCase['expected'] = { ...everywhere, declared: 'refused' }

const redirectTo = (target: string) => `http://public.test/redirect?to=${encodeURIComponent(target)}`

function cases(expected: EgressCase['expected'], urls: readonly string[]): EgressCase[] {
  return urls.map((url) => ({ url, expected }))
}

export const egressTable: readonly EgressCase[] = [
  ...cases(everywhere, [
    'http://public.test/',
    'http://public.test:80/',
    'HTTP://PUBLIC.TEST./path?query=1',
    'http://sub.wild.test/',
    'http://deep.sub.wild.test/',
    'http://ported.test:8080/',
    'http://six.test/',
    'http://xn--bcher-kva.test/',
    'http://93.184.216.99/',
    // Resolved once: what was checked is what is connected to.
    'http://later.test/',
    redirectTo('http://public.test/arrived'),
    redirectTo('/arrived'),
    redirectTo(redirectTo('http://sub.wild.test/')),
  ]),
  ...cases(undeclared, [
    'http://public.test:8080/',
    'http://ported.test/',
    'http://wild.test/',
    'http://other.test/',
    'http://evilpublic.test/',
    'http://public.test.evil.test/',
    `http://${publicAddress}/`,
    `http://${publicAddress}./`,
    'http://1572395042/',
    'http://[2606:2800:220:1::1]/',
    redirectTo('http://other.test/'),
    redirectTo('http://public.test:8080/'),
    redirectTo(redirectTo(`http://${publicAddress}/`)),
  ]),
  // Of the owner's network: listed for the program; for a tool only where it says so itself; never for a browser.
  ...cases({ fetch: 'reached', browser: 'refused', declared: 'reached' }, ['http://10.0.0.7:8080/']),
  ...cases({ fetch: 'reached', browser: 'refused', declared: 'refused' }, ['http://10.0.0.8/']),
  // A page must not steer the program into it; what a tool asks for next is its own.
  ...cases({ fetch: 'refused', browser: 'refused', declared: 'reached' }, [redirectTo('http://10.0.0.7:8080/')]),
  ...cases(nowhere, [
    ...['http://10.0.0.7/', 'http://10.0.0.5:8080/', 'http://10.0.0.5/', 'http://172.16.0.5/', 'http://192.168.1.5/'],
    ...['http://100.64.0.5/', 'http://198.18.0.5/', 'http://192.0.2.5/', 'http://[2001:db8::5]/'],
    ...['http://localhost/', 'http://LOCALHOST./', 'http://127.0.0.1/', 'http://127.0.0.1./', 'http://127.0.0.1:8080/'],
    ...['http://127.1/', 'http://2130706433/', 'http://0x7f000001/', 'http://0x7f.0.0.1/', 'http://0177.0.0.1/'],
    ...['http://017700000001/', 'http://0x7f.1/', 'http://127.0.1/', 'http://00000177.0.0.01/', 'http://0/'],
    ...['http://0.0.0.0/', 'http://127。0。0。1/', 'http://127．0．0．1/', 'http://１２７.0.0.1/', 'http://①②⑦.⓪.⓪.①/'],
    ...['http://%31%32%37.0.0.1/', 'http://127.0.0.1%2f@public.test/', 'http://[::1]/', 'http://[::]/'],
    ...['http://[0:0:0:0:0:0:0:1]/', 'http://[::ffff:127.0.0.1]/', 'http://[::FFFF:7F00:1]/', 'http://[::127.0.0.1]/'],
    ...['http://[64:ff9b::7f00:1]/', 'http://[2002:7f00:1::1]/', 'http://[fe80::1%25lo]/', 'http://[fd00:ec2::254]/'],
    ...[
      'http://169.254.169.254/latest/meta-data/',
      'http://2852039166/',
      'http://0xa9fea9fe/',
      'http://0251.0376.0251.0376/',
    ],
    ...['http://[::ffff:169.254.169.254]/', 'http://[::ffff:a9fe:a9fe]/'],
    ...[
      'http://private.test/',
      'http://loop.test/',
      'http://loop6.test/',
      'http://metadata.test/',
      'http://metadata6.test/',
    ],
    ...[
      'http://shared.test/',
      'http://mapped.test/',
      'http://nat64.test/',
      'http://sixtofour.test/',
      'http://mixed.test/',
    ],
    ...['http://nowhere.test/', 'http://first.test/'],
    ...['http://user@public.test/', 'http://user:word@public.test/', 'http://:word@public.test/'],
    ...['http://public.test@127.0.0.1/', 'http://public.test:80@127.0.0.1/', 'http://127.0.0.1\\@public.test/'],
    ...['http://public.test:80:80/', 'http://public.test:99999/', 'http://public.test:-1/', 'http:///', 'http://'],
    ...[
      'ftp://public.test/',
      'file:///etc/hostname',
      'gopher://127.0.0.1:80/',
      'data:text/plain,arrived',
      'ws://public.test/',
    ],
    redirectTo('http://127.0.0.1/'),
    redirectTo('http://2130706433/'),
    redirectTo('http://[::ffff:127.0.0.1]/'),
    redirectTo('//127.0.0.1/'),
    redirectTo('http://private.test/'),
    redirectTo('http://169.254.169.254/latest/meta-data/'),
    redirectTo('http://user:word@public.test/'),
    redirectTo('file:///etc/hostname'),
    redirectTo(redirectTo(redirectTo('http://loop.test/'))),
  ]),
]
