import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { commandOf, textOf } from '../../../test/contract/sandbox-support.ts'
import { embeddedDrivers, hasBubblewrap, processesBelow } from '../../../test/support/embedded-sandbox.ts'
import { silentLogger } from '../../base/logger.ts'
import { createEmbeddedDriver } from './embedded-driver.ts'
import { instanceName, isAbandoned } from './janitor.ts'

const { open, closeAll } = embeddedDrivers()
afterEach(closeAll)

/** Another program with a driver in `directory`, in the middle of two calls. */
async function startProgram(directory: string) {
  const program = `
    import { createEmbeddedDriver } from '${new URL('./embedded-driver.ts', import.meta.url)}'
    import { commandOf } from '${new URL('../../../test/contract/sandbox-support.ts', import.meta.url)}'
    import { silentLogger } from '${new URL('../../base/logger.ts', import.meta.url)}'
    const driver = createEmbeddedDriver({ directory: ${JSON.stringify(directory)}, logger: silentLogger, forkServer: 'eager' })
    await driver.run(commandOf(['python3', '-c', '']))
    void driver.run(commandOf(['python3', '-c', 'import time; time.sleep(600)'], { limits: { wallMs: 600_000 } }))
    void driver.run(commandOf(['sh', '-c', 'setsid sleep 600 & sleep 600'], { limits: { wallMs: 600_000 } }))
    setTimeout(() => console.log('under way'), 500)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface({ input: child.stdout }), 'line')
  return child
}

function placesOf(pid: number | undefined): string[] {
  const trees = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids', '/sys/fs/cgroup', '/var/lib/familiar-sandbox']
  const present = trees.filter((path) => existsSync(path))
  return present.flatMap((path) => readdirSync(path).filter((name) => name.includes(`-${pid}-`)))
}

describe.skipIf(!hasBubblewrap)('after a program was killed (bubblewrap is needed)', () => {
  it('SEC-12 its sandboxes end with it, and the next driver removes the leftovers', { timeout: 60_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'familiar-killed-'))
    const child = await startProgram(directory)
    const below = processesBelow(child.pid ?? 0)
    expect(below.filter((name) => name.includes('sleep')).length).toBeGreaterThan(0)
    expect(placesOf(child.pid).length).toBeGreaterThan(0)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const isThere = (name: string) => existsSync(`/proc/${name.split(' ')[0]}/exe`)
    await expect.poll(() => below.filter(isThere), { timeout: 20_000 }).toEqual([])
    const { driver } = open()
    expect((await driver.run(commandOf(['true']))).end).toEqual({ kind: 'exited', code: 0 })
    expect(placesOf(child.pid)).toEqual([])
    rmSync(directory, { recursive: true, force: true })
  })

  it('SEC-12 a live driver is not touched by another one of the same directory', async () => {
    const { driver, directory } = open({ forkServer: 'eager' })
    const script = commandOf(['python3', '-c', 'import time; time.sleep(1); print("whole")'])
    const running = driver.run(script)
    const another = createEmbeddedDriver({ directory, logger: silentLogger })
    expect((await another.run(commandOf(['true']))).end).toEqual({ kind: 'exited', code: 0 })
    await another.close()
    expect(textOf((await running).stdout)).toBe('whole\n')
    expect(textOf((await driver.run(script)).stdout)).toBe('whole\n')
  })
})

describe.skipIf(process.platform !== 'linux')('the name of a driver instance', () => {
  it('SEC-12 tells whether its program is still running', () => {
    const own = instanceName()
    expect(instanceName()).not.toBe(own)
    expect(isAbandoned(own)).toBe(false)
    const [namespace, pid, started, random] = own.split('-')
    expect(isAbandoned([namespace, pid, Number(started) - 1, random].join('-'))).toBe(true)
    expect(isAbandoned([namespace, 4_194_304, started, random].join('-'))).toBe(true)
    // A program in another container is not visible from here.
    expect(isAbandoned(['1', 4_194_304, started, random].join('-'))).toBe(false)
    for (const name of ['', 'etc', '1-2-3', 'a-b-c-d', `${namespace}-x-1-1`]) expect(isAbandoned(name)).toBe(false)
  })
})
