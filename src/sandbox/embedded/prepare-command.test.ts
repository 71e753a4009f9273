import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandOf } from '../../../test/contract/sandbox-support.ts'
import { containerSpec } from '../container/container-spec.ts'
import { driverEnvironment, openDoor } from './prepare-command.ts'

describe('openDoor', () => {
  it('SEC-12 leaves nothing open if the socket cannot be restricted', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'familiar-door-'))
    try {
      const opening = openDoor({ directory, name: 'door', target: '/nowhere', mode: -1 })
      await expect(opening).rejects.toThrow(RangeError)
      expect(readdirSync(directory)).toEqual([])
      const door = await openDoor({ directory, name: 'door', target: '/nowhere', mode: 0o600 })
      expect(readdirSync(directory)).toEqual(['door'])
      await door.close()
      expect(readdirSync(directory)).toEqual([])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

describe('driverEnvironment', () => {
  const proxied = commandOf(['true'], { network: { kind: 'proxy', socketPath: '/nowhere' } })

  it('sends Node through the proxy too, and nothing that stays inside', () => {
    const environment = driverEnvironment(proxied)
    expect(environment).toMatchObject({ NODE_USE_ENV_PROXY: '1', NO_PROXY: 'localhost,127.0.0.1,::1' })
    expect(driverEnvironment(commandOf(['true']))).toEqual({ HOME: '/tmp', LANG: 'C.UTF-8' })
  })

  it('is the same in a container', () => {
    const folder = {
      resultPath: '/result',
      accountPath: '/account',
      proxyPath: '/proxy',
      mounts: [],
      [Symbol.asyncDispose]: async () => {},
    }
    const spec = containerSpec({ command: proxied, image: 'any', kit: undefined, seccomp: '', folder, life: '' })
    const pairs = Object.entries(driverEnvironment(proxied)).map((pair) => pair.join('='))
    expect(spec).toMatchObject({ Env: expect.arrayContaining(pairs) })
  })
})
