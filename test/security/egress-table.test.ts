import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { egressTable, type Policy } from './egress-table.ts'
import { waysOut } from './egress-ways.ts'
import { worldCommands } from './egress-world.ts'

interface Found {
  way: string
  policy: Policy
  isTunnel: boolean
  outcomes: Record<string, string>
}

/** A private network: the addresses of the table belong to this machine there, and there are no others. */
const inOwnNetwork = ['--user', '--map-root-user', '--net', 'sh', '-ec']
const canMakeNetwork = spawnSync('unshare', [...inOwnNetwork, worldCommands.join('\n')]).status === 0

describe.skipIf(!canMakeNetwork)('every way out (needs unshare and ip)', () => {
  let found: Found[] = []

  beforeAll(() => {
    const child = join(import.meta.dirname, 'egress-table-child.ts')
    const script = [...worldCommands, `exec ${process.execPath} ${child}`].join('\n')
    const { stdout, stderr, status } = spawnSync('unshare', [...inOwnNetwork, script], { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    found = JSON.parse(stdout) as Found[]
  }, 120_000)

  it('SEC-8 was tried', () => {
    expect(found.map(({ way }) => way)).toEqual([
      'guarded fetch',
      'guarded fetch, open',
      'sandbox proxy, GET',
      'sandbox proxy, CONNECT',
      'browser proxy, GET',
      'browser proxy, CONNECT',
    ])
  })

  it.each(waysOut.map((_, index) => index))('SEC-8 leads to where it may and nowhere else: way %i', (index) => {
    const { policy, isTunnel, outcomes } = found[index] as Found
    const asked = egressTable.filter(({ url }) => !isTunnel || /^https?:\/\//i.test(url))
    const expected = Object.fromEntries(asked.map(({ url, expected }) => [url, expected[policy]]))
    expect(Object.fromEntries(asked.map(({ url }) => [url, outcomes[url]]))).toEqual(expected)
  })
})
