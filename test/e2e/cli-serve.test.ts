import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { hasBubblewrap } from '../support/embedded-sandbox.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import {
  cleanUp,
  familiar,
  familiarJson,
  newHome,
  serveFamiliar,
  startFamiliar,
  temporaryDirectory,
} from './cli-process.ts'

afterEach(cleanUp)

const tokenPattern = /shown only once: (fam_\S+)/

async function statusCode(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/api/v1/sessions`, { headers: { authorization: `Bearer ${token}` } })).status
}

it('DAEMON-1 serves, says where and as what, shows the token once, and stops cleanly', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  expect(daemon.stdout()).toContain(`Home:  ${home}`)
  expect(daemon.stdout()).toContain('Model: offline/offline')
  const [, token = ''] = await daemon.untilShows(tokenPattern)
  expect(await statusCode(daemon.url, token)).toBe(200)
  expect(await statusCode(daemon.url, 'wrong')).toBe(401)
  expect(await familiarJson(['status'], { home })).toMatchObject({ daemon: { url: daemon.url, pid: daemon.child.pid } })
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toMatchObject({ code: 0 })
  const again = await serveFamiliar({ home })
  expect(again.stdout()).not.toMatch(tokenPattern)
  expect(again.stdout()).not.toContain('not clean')
  expect(await statusCode(again.url, token)).toBe(200)
  again.child.kill('SIGINT')
  expect(await again.ended).toMatchObject({ code: 0 })
})

it('DAEMON-1 waits for a PostgreSQL that is not there yet, and stops cleanly meanwhile', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const env = { FAMILIAR_DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none` }
  const daemon = startFamiliar(['serve', '--port', '0'], { home: newHome(), env })
  let said = ''
  daemon.child.stderr.on('data', (text) => {
    said += text
  })
  await expect.poll(() => said).toMatch(/cannot be reached.*Trying again in 1 s\.[\s\S]*Trying again in 2 s\./)
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toMatchObject({ code: 0 })
})

it.skipIf(whyNoPostgres())('DAEMON-1 a worker prints no link to the page, which it does not serve', async () => {
  const database = await createPostgresDatabase({ migrated: true })
  try {
    const env = { FAMILIAR_DATABASE_URL: database.url }
    const worker = await serveFamiliar({ home: newHome(), env, args: ['--port', '0', '--role', 'worker'] })
    expect(worker.stdout()).not.toMatch(/Page:|sign-in/)
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
  } finally {
    await database.drop()
  }
})

/** With the smaller one no sandbox holds; with the larger one they do, until the connections have taken everything. */
it.skipIf(!hasBubblewrap).each([
  { openFiles: 64, holds: false },
  { openFiles: 192, holds: true },
])(
  'DAEMON-1 continues when no file can be opened and no program started: $openFiles files',
  async ({ openFiles, holds }) => {
    const home = newHome()
    const tool = join(home, 'tools', 'tool_example')
    mkdirSync(join(home, 'tools'), { recursive: true, mode: 0o700 })
    cpSync(join(import.meta.dirname, '../support/tool-example'), tool, { recursive: true })
    const daemon = await serveFamiliar({ home, env: { FAMILIAR_SANDBOX: 'embedded' }, openFiles })
    const token = tokenPattern.exec(daemon.stdout())?.[1] ?? ''
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const send = async (method: string, path: string, body = '') => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const sent = request(`${daemon.url}${path}`, { method, agent, headers }).end(body)
      const [response] = await once(sent, 'response')
      return { status: response.statusCode, text: Buffer.concat(await Array.fromAsync(response)).toString() }
    }
    const runTool = () => send('POST', '/api/v1/tools/tool_example/run', '{"params":{"name":"Ada"}}')
    const held: Socket[] = []
    try {
      expect((await send('GET', '/api/v1/status')).status).toBe(200)
      if (holds) expect((await runTool()).text).toContain('Ada')
      // More connections than it can take; the one that asks was there before.
      for (let count = 0; count < openFiles; count += 1) {
        const socket = connect(Number(new URL(daemon.url).port), '127.0.0.1').on('error', () => undefined)
        held.push(socket)
        await once(socket, 'connect').catch(() => undefined)
      }
      for (let count = 0; count < 3; count += 1) await runTool()
      expect((await send('GET', '/api/v1/status')).status).toBe(200)
      for (const socket of held) socket.destroy()
      if (holds) await expect.poll(async () => (await runTool()).text).toContain('Ada')
      daemon.child.kill('SIGTERM')
      expect(await daemon.ended).toMatchObject({ code: 0 })
    } finally {
      for (const socket of held) socket.destroy()
      agent.destroy()
    }
  },
)

it('HTTP-2 shows the token at the first serve, also if another command ran before', async () => {
  const home = newHome()
  const sent = await familiar(['send', '-m', 'Hello'], { home })
  expect(sent.stdout + sent.stderr).not.toContain('fam_')
  const daemon = await serveFamiliar({ home })
  const [, token = ''] = await daemon.untilShows(tokenPattern)
  expect(await statusCode(daemon.url, token)).toBe(200)
})

it('HTTP-2 rotates the token at once, beside a running daemon', async () => {
  const home = newHome()
  expect(await familiar(['token', 'rotate'], { home })).toMatchObject({ code: 1, stdout: '' })
  const daemon = await serveFamiliar({ home })
  const [, old = ''] = await daemon.untilShows(tokenPattern)
  const { code, stdout } = await familiar(['tokens', 'rotate', '--yes'], { home })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^fam_\S+\n$/)
  expect(await statusCode(daemon.url, old)).toBe(401)
  expect(await statusCode(daemon.url, stdout.trim())).toBe(200)
  expect(await familiar(['send', '-m', 'Hello'], { home })).toMatchObject({ code: 0 })
})

it('DAEMON-1 says that a port is taken and which one is free', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  try {
    for (const command of ['serve', 'start']) {
      const { code, stderr } = await familiar([command, '--port', String(port)], { home: newHome() })
      expect(code).toBe(1)
      expect(stderr).toMatch(new RegExp(`Port ${port} .*is in use`))
      expect(stderr).toMatch(/Port (\d+) is free: --port \1/)
    }
  } finally {
    other.close()
  }
})

it('DAEMON-1 says what is wrong with a home that cannot be written', async () => {
  // Not even root can create a folder below a regular file.
  const file = join(temporaryDirectory(), 'file')
  writeFileSync(file, '')
  for (const command of [['serve'], ['start'], ['send', '-m', 'x'], ['restore', file, '--yes']]) {
    const { code, stdout, stderr } = await familiar(command, { home: join(file, 'home') })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/is not a directory|cannot be created/)
    expect(stderr).toContain('FAMILIAR_HOME')
  }
})

// Root may write everywhere, so as root there is nothing to test; the test above covers it.
it.skipIf(process.getuid?.() === 0)('SEC-21 says what is wrong with a home without write permission', async () => {
  const home = newHome()
  mkdirSync(home, { mode: 0o500 })
  const { code, stderr } = await familiar(['serve'], { home })
  expect(code).toBe(1)
  expect(stderr).toMatch(/No permission to write|cannot be written/)
})

it('DAEMON-1 names file, line and key of every mistake in the configuration', async () => {
  const home = newHome()
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'familiar.toml'), '[budget]\nper_day_usd = "lots"\n\n[http]\nprot = 1\n')
  for (const command of [['serve'], ['start'], ['send', '-m', 'x'], ['sessions']]) {
    const { code, stdout, stderr } = await familiar(command, { home })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/familiar\.toml:2: budget\.per_day_usd: /)
    expect(stderr).toMatch(/familiar\.toml:5: http\.prot: /)
  }
})

it('DAEMON-1 reloads the configuration on SIGHUP, and keeps the old one if the new is broken', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  writeFileSync(join(home, 'familiar.toml'), '[agent]\nname = "Rover"\n')
  daemon.child.kill('SIGHUP')
  await daemon.untilShows(/Configuration reloaded/)
  expect(await familiarJson(['status'], { home })).toMatchObject({ name: 'Rover' })
  writeFileSync(join(home, 'familiar.toml'), '[agent]\nname = 3\n')
  daemon.child.kill('SIGHUP')
  await daemon.untilShows(/the previous one stays active:\n.*familiar\.toml:2: agent\.name/)
  expect(await familiarJson(['status'], { home })).toMatchObject({ name: 'Rover' })
})

it('DAEMON-1 lets no second daemon onto one home', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  for (const command of ['serve', 'start']) {
    const { code, stderr } = await familiar([command], { home })
    expect(code).toBe(1)
    expect(stderr).toContain(`process ${daemon.child.pid}`)
    expect(stderr).toContain(daemon.url)
  }
  expect(await familiar(['send', '-m', 'Hello'], { home })).toMatchObject({ code: 0 })
})

it('CLI-1 lets passing commands of the same moment share one home', async () => {
  const home = newHome()
  const sent = await Promise.all(
    ['a', 'b', 'c', 'd'].map((session) => familiar(['send', '-m', 'Hello', '--session', session], { home })),
  )
  for (const { code, stdout, stderr } of sent) expect({ code, stdout, stderr }).toMatchObject({ code: 0, stderr: '' })
  expect(await familiarJson(['sessions'], { home })).toMatchObject({ sessions: [{}, {}, {}, {}] })
})

it('CLI-1 says who holds a home that does not answer', async () => {
  const home = newHome()
  const holder = startFamiliar(['serve'], { home })
  await holder.untilShows(/is running at/)
  writeFileSync(join(home, 'run', 'daemon.json'), '{}')
  const { code, stderr } = await familiar(['sessions'], { home })
  expect(code).toBe(3)
  expect(stderr).toMatch(/holds .* and does not answer/)
})

it('MON-1 watches a daemon, and says that there is none', async () => {
  const home = newHome()
  expect(await familiar(['monitor', '--watch'], { home })).toMatchObject({ code: 3 })
  await serveFamiliar({ home })
  const watching = startFamiliar(['monitor', '--watch'], { home })
  await watching.untilShows(/^idle$/m)
  watching.child.kill('SIGINT')
  expect(await watching.ended).toMatchObject({ code: 0 })
})

it('CLI-1 ends well when its reader leaves; a daemon serves on without one', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  await familiar(['send', '-m', 'Hello'], { home })
  const following = startFamiliar(['log', '--follow'], { home })
  await following.untilShows(/turn_ended/)
  following.child.stdout.destroy()
  daemon.child.stdout.destroy()
  daemon.child.kill('SIGHUP')
  expect(await familiar(['send', '-m', 'Hello again'], { home })).toMatchObject({ code: 0 })
  expect(await following.ended).toMatchObject({ code: 0 })
  expect(await familiarJson(['status'], { home })).toMatchObject({ daemon: { pid: daemon.child.pid } })
  const other = startFamiliar(['log', '--follow'], { home })
  await other.untilShows(/turn_ended/)
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toMatchObject({ code: 0 })
  expect(await other.ended).toMatchObject({ code: 3 })
})
