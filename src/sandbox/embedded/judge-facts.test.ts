import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judgeFacts } from './prove-driver.ts'

const namespaces = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup']
const outside = namespaces.map((name) => `${name}:[1]`)

function facts(changes: Record<string, string> = {}): string {
  const sections = {
    status: 'CapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t1\nSeccomp:\t2',
    users: '      1000        999          1',
    namespaces: namespaces.map((name) => `${name}:[2]`).join('\n'),
    interfaces: 'Inter-|   Receive\n face |bytes\n    lo:       0       0',
    routes: 'Iface\tDestination',
    descriptors: 'total 0\nlr-x 1 a b 64 Nov 15 0 -> pipe:[1]\n3 -> pipe:[4]\nlr-x 1 a b 64 Nov 15 4 -> /proc/9/fd',
    host: '',
    writable: '',
    end: '',
    ...changes,
  }
  return Object.entries(sections)
    .map(([name, text]) => `== ${name}\n${text}\n`)
    .join('')
}

const failing = (text: string) => judgeFacts(text, outside).flatMap(({ name, ok }) => (ok ? [] : [name]))

describe('the self-report of a sandbox', () => {
  it('SEC-12 passes when everything is as it should be', () => {
    expect(failing(facts())).toEqual([])
  })

  it.each([
    ['namespaces', { namespaces: namespaces.map((name) => `${name}:[${name === 'uts' ? 1 : 2}]`).join('\n') }],
    ['namespaces', { namespaces: '' }],
    ['network', { interfaces: 'lo: 0\n eth0: 0' }],
    ['network', { routes: 'Iface\nlo\t0' }],
    ['host files', { host: '/etc/shadow' }],
    ['not host root', { users: '0 0 1' }],
    ['not host root', { users: '' }],
    ['capabilities', { status: 'CapEff:\t0000000000200000\nNoNewPrivs:\t1\nSeccomp:\t2' }],
    ['no new privileges', { status: 'NoNewPrivs:\t0\nSeccomp:\t2' }],
    ['system call filter', { status: 'NoNewPrivs:\t1\nSeccomp:\t0' }],
    ['kernel settings', { writable: '/proc/sys/kernel/core_pattern' }],
    ['read-only root', { writable: '/usr' }],
    ['descriptors', { descriptors: '0 -> pipe:[1]\n17 -> /home' }],
    ['descriptors', { descriptors: '5 -> /proc/1/fdinfo' }],
  ])('SEC-12 fails for its %s', (name, changes) => {
    expect(failing(facts(changes))).toContain(name)
  })

  it('SEC-12 fails when it is incomplete, and never passes by chance', () => {
    expect(failing(facts().replace('== end', ''))).toEqual(['inside'])
    fc.assert(fc.property(fc.string(), (text) => failing(text).length > 0))
    fc.assert(fc.property(fc.string(), (text) => failing(`${text}\n== end\n`).length > 0))
  })
})
