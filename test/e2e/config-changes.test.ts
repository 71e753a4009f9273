import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { startFamiliar as startInProcess } from '../support/running-familiar.ts'
import { waitFor } from '../support/wait-for.ts'
import { cleanUp, familiar, familiarJson, newHome, serveFamiliar, temporaryDirectory } from './cli-process.ts'
import { hasTmux, openTmuxPane } from './tmux-pane.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
  // Last: it deletes the socket through which a terminal is closed.
  await cleanUp()
})

const provider = (url: string) => `type = "openai-compatible"
base_url = "${url}/v1"
api_key_env = "FAKE_KEY"
[models.main]
model = "fake-model"
cost_per_mtok = [3.0, 15.0]
`

async function startModel(): Promise<string> {
  const model = await startFakeModel({ script: [] })
  closers.push(model.close)
  return model.url
}

async function modelOf(home: string): Promise<string> {
  const status = (await familiarJson(['status'], { home })) as { stats: { model: string } }
  return status.stats.model
}

describe('a changed configuration', () => {
  it('CONF-3 takes effect when its file is saved, without a restart', async () => {
    const { home, daemon, close } = await startInProcess({})
    closers.push(close)
    expect(daemon.model()).toBe('offline/offline')
    writeFileSync(join(home, '.env'), 'FAKE_KEY=key-of-the-test\n', { mode: 0o600 })
    writeFileSync(join(home, 'providers.d', 'fake.toml'), provider(await startModel()), { mode: 0o600 })
    await waitFor(() => expect(daemon.model()).toBe('fake/main'))
    // A file at the top of the home is found as well.
    writeFileSync(join(home, 'familiar.toml'), '[routes]\nprimary = "offline/offline"\n', { mode: 0o600 })
    await waitFor(() => expect(daemon.model()).toBe('offline/offline'))
    // A broken one changes nothing.
    writeFileSync(join(home, 'familiar.toml'), '[routes\n', { mode: 0o600 })
    expect(await daemon.reload()).toHaveLength(1)
    expect(daemon.model()).toBe('offline/offline')
  })

  it('CONF-3 "familiar reload" applies it at once, names what needs a restart, and refuses a broken file', async () => {
    const home = newHome()
    const reload = () => familiarJson(['reload'], { home })
    expect(await familiar(['reload'], { home: newHome() })).toMatchObject({ code: 3 })
    await serveFamiliar({ home })
    expect(await reload()).toMatchObject({ ok: true, restart_needed: [], model: 'offline/offline' })
    writeFileSync(join(home, '.env'), 'BOT=1234:abc\n', { mode: 0o600 })
    writeFileSync(join(home, 'familiar.toml'), '[telegram]\ntoken_env = "BOT"\n', { mode: 0o600 })
    expect(await reload()).toMatchObject({ ok: true, restart_needed: ['telegram'] })
    expect((await familiar(['doctor'], { home })).stdout).toMatch(/restart +Settings that need a restart: telegram/)
    writeFileSync(join(home, 'familiar.toml'), '[telegrams]\n', { mode: 0o600 })
    expect(await familiar(['reload'], { home })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the one before stays in use:\n.*familiar\.toml:1.*telegrams/),
    })
  })

  it.skipIf(!hasTmux)('CONF-3 a hang-up under "familiar start" reloads it and keeps the chat', async () => {
    const home = newHome()
    const pane = await openTmuxPane({
      args: ['start', '--port', '0', '--home', home],
      env: { HOME: temporaryDirectory() },
    })
    closers.push(pane.close)
    await pane.untilShows(/\/help/)
    writeFileSync(join(home, '.env'), 'FAKE_KEY=key-of-the-test\n', { mode: 0o600 })
    writeFileSync(join(home, 'providers.d', 'fake.toml'), provider(await startModel()), { mode: 0o600 })
    const status = (await familiarJson(['status'], { home })) as { daemon: { pid: number } }
    process.kill(status.daemon.pid, 'SIGHUP')
    await waitFor(async () => expect(await modelOf(home)).toBe('fake/main'))
    expect(await familiarJson(['status'], { home })).toMatchObject({ daemon: { pid: status.daemon.pid } })
    expect(await pane.screen()).not.toContain('left with')
  })
})

describe('the daemon from another terminal', () => {
  it('CLI-2 "familiar stop" stops the daemon, "familiar cancel" a reply', async () => {
    const home = newHome()
    const daemon = await serveFamiliar({ home })
    expect(await familiarJson(['stop'], { home })).toEqual({ stopped: true, pid: daemon.child.pid })
    expect(await daemon.ended).toMatchObject({ code: 0 })
    expect(await familiar(['stop'], { home })).toMatchObject({ code: 0, stdout: 'Familiar is not running.\n' })
  })

  it('CLI-2 a command that reads refuses a home that is not there, and creates nothing', async () => {
    const home = newHome()
    for (const command of ['status', 'sessions', 'memory list', 'cost', 'tools list', 'schedule list']) {
      const { code, stderr } = await familiar(command.split(' '), { home })
      expect({ command, code, stderr }).toEqual({
        command,
        code: 3,
        stderr: expect.stringContaining(`There is no Familiar home at ${home}`),
      })
    }
    expect(existsSync(home)).toBe(false)
  })

  it('CLI-2 prints commands that work when they are pasted into another terminal', async () => {
    const home = newHome()
    const daemon = await serveFamiliar({ home })
    const [, setup = ''] = await daemon.untilShows(/To connect one: (\S+ setup.*)\n/)
    expect(setup).toMatch(/bin\/familiar setup --home /)
    expect(setup).toContain(home)
  })

  it('CLI-2 "familiar uninstall --delete-data" stops the daemon and deletes the home', async () => {
    const home = newHome()
    const daemon = await serveFamiliar({ home })
    expect(await familiarJson(['uninstall', '--delete-data', '--yes'], { home })).toMatchObject({
      stopped: true,
      data_deleted: true,
    })
    expect(await daemon.ended).toMatchObject({ code: 0 })
    expect(existsSync(home)).toBe(false)
  })
})
