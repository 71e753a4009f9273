import { afterEach, describe, expect, it } from 'vitest'
import { cleanUp, familiar, familiarJson, startFamiliar } from './cli-process.ts'
import { serveHome } from './serve-home.ts'

let home: Awaited<ReturnType<typeof serveHome>> | undefined
afterEach(async () => {
  await cleanUp()
  await home?.close()
  home = undefined
})

const open = async () => {
  home = await serveHome({})
  return { path: { home: home.home }, served: home.served }
}
const message = (id: number, method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const initialize = message(1, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
})

describe('familiar token', () => {
  it('SEC-3 makes tokens that are shown once, lists them without showing them, and ends one at once', async () => {
    const { path, served } = await open()
    const made = await familiar(['token', 'create', '--scope', 'read'], path)
    const token = made.stdout.trim()
    expect(token).toMatch(/^fam_[\w-]{43}$/)
    expect(made.stderr).toContain('with the scope "read". Shown only once.')
    const status = async (call = { path: '/api/v1/sessions' }) => (await served.call({ ...call, token })).status
    expect(await status()).toBe(200)
    const listed = await familiar(['token', 'list'], path)
    expect(listed.stdout).not.toContain(token)
    const { tokens } = (await familiarJson(['token', 'list'], path)) as { tokens: { id: string; scope: string }[] }
    const id = tokens.find(({ scope }) => scope === 'read')?.id ?? ''
    expect(await familiar(['token', 'revoke', id], path)).toMatchObject({ code: 0 })
    expect(await status()).toBe(401)
    expect(await familiar(['token', 'revoke', id], path)).toMatchObject({ code: 1 })
  })

  it('USERS-1 creates them for another user, and refuses unknown users', async () => {
    const { path, served } = await open()
    const { user } = await served.users.add({ name: 'ben' })
    const made = (await familiarJson(['token', 'create', '--user', 'ben', '--scope', 'chat'], path)) as {
      token: string
    }
    expect(await served.tokens.verify(made.token)).toMatchObject({ userId: user.id, scope: 'chat', isOwner: false })
    expect(await familiar(['token', 'create', '--user', 'eve'], path)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no user named'),
    })
  })
})

describe('familiar mcp', () => {
  it('MCP-1 writes only messages, and ends with its input', async () => {
    const { path } = await open()
    const input = [initialize, '{"broken', message(2, 'tools/list')].map((line) => `${line}\n`).join('')
    const { code, stdout } = await familiar(['mcp', '--scope', 'read'], { ...path, input })
    expect(code).toBe(0)
    const lines = stdout.split('\n').filter(Boolean)
    const answers = lines.map(
      (line) => JSON.parse(line) as { id: number | null; result?: { tools?: { name: string }[] } },
    )
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, null].sort())
    const tools = answers.find(({ id }) => id === 2)?.result?.tools
    expect(tools?.map(({ name }) => name)).toEqual(['recall', 'find_tools'])
  })

  it('MCP-1 ends at Ctrl-C', async () => {
    const { path } = await open()
    const running = startFamiliar(['mcp'], path)
    running.child.stdin.write(`${initialize}\n`)
    await running.untilShows(/"protocolVersion"/)
    running.child.kill('SIGINT')
    expect((await running.ended).code).toBe(0)
  })
})
