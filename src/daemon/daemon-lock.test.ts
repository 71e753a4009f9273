import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acquireDaemonLock, isSameProcess, processIdentity, readDaemonInfo, writeDaemonInfo } from './daemon-lock.ts'
import { openHome } from './home.ts'
import { homePaths } from './home-paths.ts'

let home: string
let children: ChildProcess[]
beforeEach(async () => {
  home = join(mkdtempSync(join(tmpdir(), 'familiar-lock-')), 'home')
  children = []
  await openHome(home)
})
afterEach(async () => {
  await Promise.all(children.map((child) => end(child)))
  rmSync(home, { recursive: true, force: true })
})

const source = (name: string) => JSON.stringify(join(import.meta.dirname, name))

/** A process that takes the lock, reports the result, and stays. */
async function startRival(): Promise<{ child: ChildProcess; answer: { ok: boolean; pid?: number; url?: string } }> {
  const program = `import { acquireDaemonLock } from ${source('daemon-lock.ts')}
    import { writeDaemonInfo } from ${source('daemon-lock.ts')}
    const home = ${JSON.stringify(home)}
    const lock = await acquireDaemonLock(home)
    if (lock.ok) await writeDaemonInfo(home, { url: 'http://127.0.0.1:1', credential: 'c-' + process.pid })
    console.log(JSON.stringify(lock))
    if (lock.ok) setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  return { child, answer: JSON.parse(String(line)) }
}

async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('daemon lock', () => {
  it('DAEMON-1 writes a pid file and a record that only the owner can read, and removes them', async () => {
    const lock = await acquireDaemonLock(home)
    if (!lock.ok) throw new Error('not acquired')
    const paths = homePaths(home)
    expect(readFileSync(paths.pidFile, 'utf8')).toBe(`${process.pid}\n`)
    expect(readDaemonInfo(home)).toBeUndefined()
    await writeDaemonInfo(home, { url: 'http://127.0.0.1:8100', credential: 'secret' })
    expect(readDaemonInfo(home)).toEqual({
      pid: process.pid,
      startedAt: expect.any(Number),
      url: 'http://127.0.0.1:8100',
      credential: 'secret',
    })
    for (const path of [paths.pidFile, paths.daemonInfo, paths.daemonLock])
      expect(lstatSync(path).mode & 0o777).toBe(0o600)
    await lock.release()
    await lock.release()
    expect(existsSync(paths.pidFile)).toBe(false)
    expect(readDaemonInfo(home)).toBeUndefined()
    const again = await acquireDaemonLock(home)
    expect(again.ok).toBe(true)
    if (again.ok) await again.release()
  })

  it('DAEMON-1 tells a second daemon which one is running', async () => {
    const { child, answer } = await startRival()
    expect(answer).toEqual({ ok: true })
    expect(await acquireDaemonLock(home)).toEqual({
      ok: false,
      pid: child.pid,
      startedAt: expect.any(Number),
      url: 'http://127.0.0.1:1',
    })
    expect(readDaemonInfo(home)).toMatchObject({ pid: child.pid, credential: `c-${child.pid}` })
  })

  it('DAEMON-1 lets exactly one of many win a race', async () => {
    for (let round = 0; round < 2; round += 1) {
      const rivals = await Promise.all(Array.from({ length: 6 }, () => startRival()))
      const winners = rivals.filter((rival) => rival.answer.ok)
      expect(winners).toHaveLength(1)
      for (const { answer } of rivals.filter((rival) => !rival.answer.ok))
        expect(answer.pid).toBe(winners[0]?.child.pid)
      await Promise.all(rivals.map((rival) => end(rival.child)))
    }
  })

  it('DAEMON-1 is free again after kill -9, whatever the dead daemon left', async () => {
    const { child } = await startRival()
    await end(child)
    expect(existsSync(homePaths(home).pidFile)).toBe(true)
    expect(readDaemonInfo(home)).toBeUndefined()
    const lock = await acquireDaemonLock(home)
    expect(lock.ok).toBe(true)
    expect(readFileSync(homePaths(home).pidFile, 'utf8')).toBe(`${process.pid}\n`)
    if (lock.ok) await lock.release()
  })

  it('DAEMON-1 is not confused by another program with the dead daemon’s pid', async () => {
    const { child } = await startRival()
    const record = JSON.parse(readFileSync(homePaths(home).daemonInfo, 'utf8'))
    await end(child)
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    children.push(stranger)
    writeFileSync(homePaths(home).pidFile, `${stranger.pid}\n`)
    writeFileSync(homePaths(home).daemonInfo, JSON.stringify({ ...record, pid: stranger.pid }))
    expect(readDaemonInfo(home)).toBeUndefined()
    const lock = await acquireDaemonLock(home)
    expect(lock.ok).toBe(true)
    if (lock.ok) await lock.release()
  })

  it('DAEMON-1 reads nothing from a damaged record, and writes none without the lock', async () => {
    writeFileSync(homePaths(home).daemonInfo, '{"pid": "x"')
    expect(readDaemonInfo(home)).toBeUndefined()
    await expect(writeDaemonInfo(home, { url: 'http://x', credential: 'y' })).rejects.toThrow('lock')
  })
})

describe('process identity', () => {
  it('DAEMON-1 is the same for one process and different for the next', async () => {
    const own = processIdentity(process.pid) ?? ''
    expect(own).not.toBe('')
    expect(processIdentity(process.pid)).toBe(own)
    expect(isSameProcess(process.pid, own)).toBe(true)
    expect(isSameProcess(process.pid, `${own}0`)).toBe(false)
    expect(isSameProcess(process.pid, '')).toBe(true)
    expect(processIdentity(2 ** 22 + 1)).toBeUndefined()
  })
})
