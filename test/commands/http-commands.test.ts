import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportCost } from '../../src/agent/costs.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { httpMemory } from '../../src/daemon/memory.ts'
import { createHttpApp } from '../../src/http/app.ts'
import { type HttpServer, serveHttp } from '../../src/http/server.ts'
import type { RunCommandReply } from '../../src/protocol/commands.ts'
import { createAccessTokens, createRateLimiter } from '../../src/security/tokens.ts'
import { openChatLine, openChatSession } from '../../src/terminal/chat/chat-line.ts'
import type { CommandContext } from '../../src/terminal/command.ts'
import { createApiClient } from '../../src/terminal/connect.ts'
import { type OpenCommands, openCommands, stranger } from '../support/open-commands.ts'
import { createScriptedModel } from '../support/scripted-model.ts'

let open: OpenCommands
let server: HttpServer
let tokens: Record<'owner' | 'chat' | 'read' | 'stranger', string>

beforeAll(async () => {
  open = await openCommands({ model: createScriptedModel({ script: () => ({ text: 'I see.' }) }) })
  await open.talk('The roof is green.')
  const { database, clock } = open
  const access = createAccessTokens({ database, clock, ids: createIds(clock) })
  tokens = {
    owner: (await access.createToken(open.userId, 'owner')).token,
    chat: (await access.createToken(open.userId, 'chat')).token,
    read: (await access.createToken(open.userId, 'read')).token,
    stranger: (await access.createToken(stranger, 'owner')).token,
  }
  const http = createHttpApp({
    commands: open.commands,
    conversations: open.conversations,
    tokens: access,
    limiter: createRateLimiter({ clock, requestsPerMinute: 1_000_000, failuresPerMinute: 1_000_000 }),
    ...httpMemory({
      ...open,
      spoolDirectory: open.home,
      timeZone: 'UTC',
    }),
    media: open.media,
    costReport: (userId, period) => reportCost(database, { userId, period, now: clock.now() }),
    monitor: open.monitor.current,
    status: () => ({ name: 'Familiar', version: '0', uptimeSeconds: 0, model: 'none' }),
    clock,
    logger: silentLogger,
    settings: { allowedHosts: [], allowedOrigins: [], maxBodyBytes: 100_000, maxAttachmentBytes: 1_000 },
  })
  server = await serveHttp({ ...http, host: '127.0.0.1', port: 0, logger: silentLogger })
})
afterAll(async () => {
  await server.close(0)
  await open.close()
})

async function call(token: keyof typeof tokens, path: string, body?: object) {
  const response = await fetch(`${server.url}/api/v1/commands${path}`, {
    headers: { authorization: `Bearer ${tokens[token]}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as RunCommandReply & Record<string, unknown> }
}

describe('over HTTP', () => {
  it('CMD-1 lists, completes and runs', async () => {
    const { json } = await call('read', '')
    expect(json.commands).toContainEqual({
      name: 'forget',
      usage: '/forget WHAT',
      summary: 'forget a memory by its id, title or words',
      changes_for_good: true,
      agent_may: true,
    })
    const completed = await call('read', '/complete?line=/summary%20&session=main')
    expect(completed.json).toEqual({ start: 9, candidates: [{ text: 'main' }] })
    const ran = await call('owner', '', { line: '/history', session: 'main' })
    expect(ran).toMatchObject({ status: 200, json: { ok: true, question: null, goes_on_in: null } })
    expect(ran.json.text).toContain('The roof is green.')
    expect((await call('owner', '', { line: '/history' })).json).toMatchObject({ ok: false })
  })

  it('ASSET-5 asks first, and does it with the confirmation of that question', async () => {
    await open.run('/remember The cat is called Mia.')
    const line = '/forget cat Mia'
    const asked = await call('owner', '', { line })
    expect(asked.json.question?.text).toContain('The cat is called Mia.')
    expect((await call('owner', '', { line, confirm: 'yes' })).json.question).toEqual(asked.json.question)
    const done = await call('owner', '', { line, confirm: asked.json.question?.confirm })
    expect(done.json).toMatchObject({ ok: true, question: null, text: expect.stringMatching(/^Forgot/) })
  })

  it('SEC-22 has no session of another user', async () => {
    const id = open.sessionId() ?? ''
    for (const session of ['main', id]) {
      expect((await call('stranger', '', { line: '/history', session })).status).toBe(404)
      expect((await call('stranger', `/complete?line=/rewind%20&session=${session}`)).status).toBe(404)
    }
    const unknown = await call('stranger', '', { line: `/summary ${id}` })
    expect(unknown.json.text).toBe(`There is no session "${id}".`)
  })

  it('HTTP-1 runs nothing for a token that may only talk or read, and takes nothing that it does not know', async () => {
    for (const token of ['chat', 'read'] as const) {
      expect((await call(token, '', { line: '/help' })).status).toBe(403)
    }
    expect((await call('owner', '', { line: '' })).status).toBe(400)
    expect((await call('owner', '', { line: '/help', by: 'agent' })).status).toBe(400)
    expect((await call('owner', '', {})).status).toBe(400)
    expect((await call('owner', '/complete')).status).toBe(400)
  })
})

it('CMD-1 a chat at a terminal uses the same commands, and follows to another session', async () => {
  const client = createApiClient({ url: server.url, credential: tokens.owner })
  const connection = { client, daemon: undefined, close: async () => {} }
  // Nothing of the context is asked for while the connection holds.
  const chat = openChatSession(openChatLine({} as CommandContext, { session: 'terminal', connection }))
  expect(await chat.commands.run('/history')).toMatchObject({ text: 'There are no messages here yet.' })
  expect(await chat.commands.complete('/pinn')).toMatchObject({ start: 0, candidates: [{ text: '/pinned' }] })
  const say = async (text: string) => {
    for await (const { event } of chat.partner.say(text)) if (event.type === 'turn_end') return
  }
  await say('The wall is wet.')
  expect((await chat.commands.run('/history')).text).toContain('The wall is wet.')
  await chat.commands.run('/fork elsewhere')
  await say('The floor is dry.')
  expect((await chat.commands.run('/history')).text).toMatch(/The wall is wet\.[\s\S]*The floor is dry\./)
  const asked = await chat.commands.run('/reset')
  expect(asked.text).toMatch(/^Archive “elsewhere”/)
  expect((await chat.commands.run('/reset', asked.confirm)).text).toMatch(/^Archived as /)
  expect((await chat.commands.run('/history')).text).toBe('There are no messages here yet.')
  await say('Anew.')
  expect((await chat.commands.run('/history')).text).not.toContain('The floor is dry.')
})
