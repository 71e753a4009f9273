import { readdirSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { commandOf, textOf } from '../../../test/contract/sandbox-support.ts'
import { embeddedDrivers, hasBubblewrap, leftovers, leftSince } from '../../../test/support/embedded-sandbox.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { SandboxUnavailable } from '../sandbox.ts'

const { open, closeAll } = embeddedDrivers()
afterEach(closeAll)

const signal = () => AbortSignal.timeout(60_000)

describe.skipIf(!hasBubblewrap)('the embedded driver (bubblewrap is needed)', () => {
  it('SEC-12 proves its claims on this machine', async () => {
    const test = await open().driver.test(signal())
    expect(test).toMatchObject({ ok: true, lacks: [] })
    expect(test.proofs.map(({ name }) => name)).toEqual([
      ...['namespaces', 'network', 'host files', 'not host root', 'capabilities', 'no new privileges'],
      ...['system call filter', 'kernel settings', 'read-only root', 'descriptors'],
      ...['memory', 'processes', 'time', 'output', 'disk'],
    ])
    expect(test.proofs.filter(({ ok }) => !ok)).toEqual([])
  })

  it.each([
    ['seccomp', 'system call filter'],
    ['uid', 'not host root'],
  ] as const)('SEC-12 fails its test without %s', async (control, proof) => {
    const test = await open({ without: [control] }).driver.test(signal())
    expect(test).toMatchObject({ ok: false, reason: expect.stringContaining(proof) })
    expect(test.proofs.find(({ name }) => name === proof)).toMatchObject({ ok: false })
  })

  it('SEC-12 reports what it lacks without a cgroup, and allows fewer processes', async () => {
    const { driver } = open({ without: ['cgroup'] })
    const test = await driver.test(signal())
    expect(test).toMatchObject({ ok: true, lacks: [{ what: expect.stringContaining('memory') }] })
    const count = 'i=0; while [ $i -lt 20 ]; do sleep 20 & i=$((i+1)); echo $i; done'
    const outcome = await driver.run(commandOf(['sh', '-c', count]))
    expect(textOf(outcome.stdout)).toBe('1\n2\n3\n4\n5\n6\n7\n')
    const large = await driver.run(commandOf(['python3', '-c', 'b"x" * (200 << 20)']))
    expect(large.end).toEqual({ kind: 'exited', code: 1 })
    expect(textOf(large.stderr)).toContain('MemoryError')
    const node = await driver.run(commandOf(['node', '-p', '1 + 1']))
    expect(textOf(node.stdout)).toBe('2\n')
  })

  it("TOOL-5 knows the programs on a command's PATH", async () => {
    const { driver } = open()
    expect(await driver.missingPrograms(['sh', 'node', 'no-such-program', '/usr/bin/env', '../sh'])).toEqual([
      'no-such-program',
      '/usr/bin/env',
      '../sh',
    ])
    const outcome = await driver.run(commandOf(['node', '-p', 'process.version']))
    expect(textOf(outcome.stdout)).toBe(`${process.version}\n`)
  })

  it('SEC-12 leaves nothing on the disk after closing, and does not open again', async () => {
    const before = leftovers()
    const { driver, directory } = open({ forkServer: 'eager' })
    await driver.run(commandOf(['true']))
    await driver.run(commandOf(['python3', '-c', '']))
    await driver.close()
    expect(readdirSync(directory)).toEqual([])
    expect(leftSince(before)).toEqual([])
    await expect(driver.run(commandOf(['true']))).rejects.toBeInstanceOf(SandboxUnavailable)
  })

  it('SEC-12 releases prepared sandboxes after five idle minutes, and works again afterwards', async () => {
    const pids = () => leftovers().processes.map((line) => line.split(' ')[0])
    const before = new Set(pids())
    const clock = createManualClock()
    const { driver } = open({ clock, forkServer: 'eager' })
    const script = commandOf(['python3', '-c', 'print("there")'])
    await driver.run(script)
    await clock.advance(5 * 60_000)
    await expect.poll(() => pids().filter((pid) => !before.has(pid)), { timeout: 20_000 }).toEqual([])
    expect(textOf((await driver.run(script)).stdout)).toBe('there\n')
  })
})
