import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userTables } from '../../src/security/users.ts'
import { bashTool } from '../support/published-tools.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { type Call, type ServedFamiliar, serveFamiliar } from './http-support.ts'
import { putOut } from './put-out.ts'

/** Memories have a list of their own, as long as this one: `http-memory-users.test.ts`. */
const elsewhere = '/api/v1/memories'

const toml = `[memory]
extraction = false
[memory.embedding]
provider = "off"
[plans.jive.tools]
allow = ["memory_*", "ask_user"]
`

/** The owner's data, by id or name. */
interface Owned {
  session: string
  contact: string
  approval: string
  permission: string
  tool: string
  capability: string
  build: string
  question: string
  schedule: string
  item: string
  user: string
  folder: string
  /** A session that was deleted. */
  deleted: string
  /** A file that the owner's own search has found. */
  file: string
}

type Attempt = [path: string, call: Partial<Call>, status: number]

const get = (path: string, status: number): Attempt => [path, {}, status]
const post = (path: string, body: object, status: number): Attempt => [path, { body }, status]
const put = (path: string, body: object, status: number): Attempt => [path, { method: 'PUT', body }, status]
const drop = (path: string, status: number): Attempt => [path, { method: 'DELETE' }, status]

/** The result of a call in that session, and an answer of it, as OpenAI’s clients name them. */
const resultOf = (session: string) => [
  { role: 'tool', tool_call_id: `call_${session.replaceAll('-', '')}_call-1`, content: 'Done' },
]
const responseOf = (session: string) => `resp_${session.replaceAll('-', '')}_${session.replaceAll('-', '')}_1`

/** For every route what another user may try with them, and how it ends. A route that is not here fails the test. */
function attemptsWith(of: Owned): Record<string, Attempt[]> {
  const v1 = '/api/v1'
  const onSession = (rest: string, method: 'GET' | 'POST', body?: object): Attempt[] =>
    [of.session, of.contact].map((name) => {
      const path = `${v1}/sessions/${name}/${rest}`
      return method === 'GET' ? get(path, 404) : post(path, body ?? {}, 404)
    })
  const message = { message: 'Hello', session: of.session }
  const theirs = { 'familiar-session': of.session }
  const said = [{ role: 'user', content: 'Hello' }]
  const settings = (base: string): Record<string, Attempt[]> => ({
    [`GET ${base}`]: [get(base.replace(':name', of.tool), 404)],
    [`PUT ${base}`]: [put(base.replace(':name', of.tool), { api_key: 'mine' }, 404)],
    [`DELETE ${base}/:key`]: [drop(`${base.replace(':name', of.tool)}/api_key`, 404)],
  })
  const local = { directory: '/tmp/nowhere' }
  const card = { title: 'Mine', html: '<p>x</p>', text: 'x', accentColor: null, backgroundColor: null, icon: null }
  const audioForm =
    '--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\nRIFF\r\n--x--\r\n'
  const form = { body: 'value=mine', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  return {
    'POST /api/v1/chat': [post(`${v1}/chat`, message, 404)],
    'POST /api/v1/notify': [post(`${v1}/notify`, message, 404)],
    'POST /api/chat': [post('/api/chat', message, 404)],
    'POST /v1/chat/completions': [
      ['/v1/chat/completions', { body: { model: 'familiar', messages: said }, headers: theirs }, 404],
      post('/v1/chat/completions', { model: 'familiar', messages: [...said, ...resultOf(of.session)] }, 200),
    ],
    'POST /v1/responses': [
      ['/v1/responses', { body: { model: 'familiar', input: 'Hello' }, headers: theirs }, 404],
      post('/v1/responses', { model: 'familiar', input: 'Hello', previous_response_id: responseOf(of.session) }, 404),
    ],
    'DELETE /v1/responses/:id': [drop(`/v1/responses/${responseOf(of.session)}`, 404)],
    'GET /v1/responses/:id': [get(`/v1/responses/${responseOf(of.session)}`, 404)],
    'POST /v1/completions': [post('/v1/completions', { model: 'familiar', prompt: 'Hello' }, 503)],
    'POST /v1/audio/speech': [post('/v1/audio/speech', { input: 'Hello' }, 503)],
    'POST /v1/audio/transcriptions': [
      [
        '/v1/audio/transcriptions',
        { body: audioForm, headers: { 'content-type': 'multipart/form-data; boundary=x' } },
        503,
      ],
    ],
    'GET /v1/models': [get('/v1/models', 200)],
    'GET /v1/models/:id': [get('/v1/models/familiar', 200)],
    'POST /v1/embeddings': [post('/v1/embeddings', { model: 'familiar-embedding', input: 'Hello' }, 503)],
    'GET /api/v1/approvals': [get(`${v1}/approvals`, 200)],
    'POST /api/v1/approvals/:id': [post(`${v1}/approvals/${of.approval}`, { answer: 'approve' }, 404)],
    'GET /api/v1/permissions': [get(`${v1}/permissions`, 200)],
    'POST /api/v1/permissions': [
      post(`${v1}/permissions`, { tool: of.tool, destination: 'mail.example' }, 404),
      post(`${v1}/permissions`, { tool: 'find_tools', destination: 'mail.example', session: of.session }, 404),
    ],
    'POST /api/v1/local/permissions': [post(`${v1}/local/permissions`, { tool: 'x', destination: 'y' }, 403)],
    'DELETE /api/v1/permissions/:id': [drop(`${v1}/permissions/${of.permission}`, 404)],
    'GET /api/v1/sessions/:id/permissions': onSession('permissions', 'GET'),
    'PUT /api/v1/sessions/:id/permissions': [
      put(`${v1}/sessions/${of.session}/permissions`, { mode: 'trusting' }, 404),
    ],
    'GET /api/v1/setup/providers': [get(`${v1}/setup/providers`, 403)],
    'POST /api/v1/setup/try': [post(`${v1}/setup/try`, { provider: 'openai' }, 403)],
    'POST /api/v1/setup/models': [post(`${v1}/setup/models`, { provider: 'openai', model: 'x' }, 403)],
    'PUT /api/v1/setup/telegram': [put(`${v1}/setup/telegram`, { token: 'x' }, 403)],
    'PUT /api/v1/settings/:key': [put(`${v1}/settings/policy.mode`, { value: 'trusting' }, 403)],
    'GET /api/v1/status': [get(`${v1}/status`, 200)],
    // It contains no user data.
    'GET /healthz': [get('/healthz', 200)],
    'GET /readyz': [get('/readyz', 200)],
    'GET /metrics': [get('/metrics', 403)],
    'GET /api/v1/doctor': [get(`${v1}/doctor`, 403)],
    'POST /api/v1/doctor': [post(`${v1}/doctor`, {}, 403)],
    'POST /api/v1/reload': [[`${v1}/reload`, { method: 'POST' }, 403]],
    'GET /api/v1/settings': [get(`${v1}/settings`, 403)],
    'GET /api/v1/models': [get(`${v1}/models`, 200)],
    'GET /api/v1/users': [get(`${v1}/users`, 403)],
    'GET /api/v1/cost': [get(`${v1}/cost?period=all`, 200)],
    'GET /api/v1/cost/spending': [get(`${v1}/cost/spending?period=all`, 200)],
    'GET /api/v1/cost/caps': [get(`${v1}/cost/caps`, 200)],
    'GET /api/v1/monitor': [get(`${v1}/monitor`, 200)],
    'GET /api/v1/sessions': [get(`${v1}/sessions?archived=true`, 200)],
    'POST /api/v1/sessions/reset': [
      post(`${v1}/sessions/reset`, { target: of.session }, 404),
      post(`${v1}/sessions/reset`, { target: of.contact }, 404),
      post(`${v1}/sessions/reset`, { target: 'all' }, 200),
    ],
    'GET /api/v1/sessions/:id/history': onSession('history', 'GET'),
    'GET /api/v1/sessions/:id/context': onSession('context', 'GET'),
    'GET /api/v1/sessions/:id/trace': onSession('trace', 'GET'),
    'GET /api/v1/sessions/:id/requests': onSession('requests', 'GET'),
    'GET /api/v1/sessions/:id/events': onSession('events', 'GET'),
    'GET /api/v1/sessions/:id/queue': onSession('queue', 'GET'),
    'DELETE /api/v1/sessions/:id/queue/:message': [drop(`${v1}/sessions/${of.session}/queue/${of.session}`, 404)],
    'POST /api/v1/sessions/:id/stop': onSession('stop', 'POST'),
    'POST /api/v1/sessions/:id/mark': onSession('mark', 'POST', { name: 'here' }),
    'POST /api/v1/sessions/:id/rewind': onSession('rewind', 'POST', { turns: 1 }),
    'POST /api/v1/sessions/:id/fork': onSession('fork', 'POST', { contact: 'copy' }),
    'POST /api/v1/sessions/:id/compact': onSession('compact', 'POST'),
    'GET /api/v1/sessions/:id/spawns': onSession('spawns', 'GET'),
    'POST /api/v1/sessions/:id/tool-results': onSession('tool-results', 'POST', {
      results: [{ call_id: 'call-1', result: 'Done' }],
    }),
    'GET /api/v1/tools': [get(`${v1}/tools`, 200)],
    'GET /api/v1/tools/:name': [get(`${v1}/tools/${of.tool}`, 404)],
    'GET /api/v1/tools/:name/calls': [get(`${v1}/tools/${of.tool}/calls`, 200)],
    ...settings('/api/v1/tools/:name/config'),
    'POST /api/v1/tools/:name/test': [post(`${v1}/tools/${of.tool}/test`, {}, 404)],
    // Makes a document of what it is given, and keeps nothing.
    'POST /api/v1/page/card': [post(`${v1}/page/card`, card, 200)],
    'POST /api/v1/tools/:name/tests': [post(`${v1}/tools/${of.tool}/tests`, {}, 404)],
    'POST /api/v1/tools/:name/run': [post(`${v1}/tools/${of.tool}/run`, {}, 404)],
    // Only the owner changes shared data.
    'POST /api/v1/tools/:name/enable': [post(`${v1}/tools/${of.tool}/enable`, {}, 403)],
    'POST /api/v1/tools/:name/disable': [post(`${v1}/tools/${of.tool}/disable`, {}, 403)],
    'POST /api/v1/tools/:name/reload': [post(`${v1}/tools/${of.tool}/reload`, {}, 403)],
    'GET /tools': [get('/tools', 200)],
    ...settings('/tools/:name/config'),
    'POST /tools/:name/test': [post(`/tools/${of.tool}/test`, {}, 404)],
    'GET /api/v1/tools/:name/runs': [get(`${v1}/tools/${of.tool}/runs`, 200)],
    'GET /api/v1/runs': [get(`${v1}/runs`, 200)],
    'POST /api/v1/tools/:name/hook': [post(`${v1}/tools/${of.tool}/hook`, {}, 404)],
    // No token opens these, whatever its user.
    'POST /hooks/:tool': [post(`/hooks/${of.tool}`, {}, 401)],
    'POST /api/v1/hooks/:tool': [post(`${v1}/hooks/${of.tool}`, {}, 401)],
    // A link is its own right, and one that was never made is none.
    'GET /secret/:token': [get(`/secret/${of.question}`, 404)],
    'POST /secret/:token': [[`/secret/${of.question}`, form, 404]],
    'GET /api/v1/capabilities': [get(`${v1}/capabilities?query=zanzibar`, 200)],
    'GET /api/v1/capabilities/proposals': [get(`${v1}/capabilities/proposals`, 200)],
    'GET /api/v1/capabilities/:name': [get(`${v1}/capabilities/${of.capability}`, 404)],
    'GET /api/v1/capabilities/:name/diff': [get(`${v1}/capabilities/${of.capability}/diff`, 404)],
    'GET /api/v1/capabilities/:name/files': [get(`${v1}/capabilities/${of.capability}/files`, 404)],
    'GET /api/v1/capabilities/:name/calls': [get(`${v1}/capabilities/${of.capability}/calls`, 404)],
    'POST /api/v1/capabilities/:name/run': [post(`${v1}/capabilities/${of.capability}/run`, {}, 404)],
    'POST /api/v1/capabilities/:name/repair': [post(`${v1}/capabilities/${of.capability}/repair`, {}, 404)],
    'PUT /api/v1/capabilities/:name/secrets/:key': [
      put(`${v1}/capabilities/${of.capability}/secrets/API_KEY`, { value: 'a-secret-of-mine' }, 404),
    ],
    'POST /api/v1/capabilities/:name/enable': [post(`${v1}/capabilities/${of.capability}/enable`, {}, 404)],
    'POST /api/v1/capabilities/:name/disable': [post(`${v1}/capabilities/${of.capability}/disable`, {}, 404)],
    'POST /api/v1/capabilities/:name/rollback': [post(`${v1}/capabilities/${of.capability}/rollback`, {}, 404)],
    'POST /api/v1/local/capabilities/register': [post(`${v1}/local/capabilities/register`, local, 403)],
    'POST /api/v1/local/capabilities/import': [post(`${v1}/local/capabilities/import`, local, 403)],
    'POST /api/v1/local/capabilities/:name/approve': [
      post(`${v1}/local/capabilities/${of.capability}/approve`, { version: 1 }, 403),
    ],
    'POST /api/v1/local/capabilities/:name/export': [
      post(`${v1}/local/capabilities/${of.capability}/export`, local, 403),
    ],
    'GET /api/v1/builds': [get(`${v1}/builds`, 200)],
    'GET /api/v1/builds/questions': [get(`${v1}/builds/questions`, 200)],
    'POST /api/v1/builds/questions/:id': [post(`${v1}/builds/questions/${of.question}`, { answer: 'this' }, 404)],
    'POST /api/v1/builds/questions/:id/secret': [
      post(`${v1}/builds/questions/${of.question}/secret`, { value: 'a-secret-of-mine' }, 404),
    ],
    'GET /api/v1/builds/:id': [get(`${v1}/builds/${of.build}`, 404)],
    'POST /api/v1/builds/:id/stop': [post(`${v1}/builds/${of.build}/stop`, {}, 404)],
    'GET /api/v1/builds/:id/events': [get(`${v1}/builds/${of.build}/events`, 404)],
    'GET /api/builder/status': [get(`/api/builder/status?buildId=${of.build}`, 404)],
    'GET /api/v1/schedules': [get(`${v1}/schedules?all=true`, 200)],
    // A schedule goes to a conversation of one's own: another one's is none.
    'POST /api/v1/schedules': [post(`${v1}/schedules`, { cron: '0 9 * * *', message: 'Hello', session: 'mine' }, 201)],
    'POST /api/v1/schedules/preview': [post(`${v1}/schedules/preview`, { cron: '0 9 * * *' }, 200)],
    'POST /api/v1/schedules/heartbeat': [post(`${v1}/schedules/heartbeat`, {}, 403)],
    'GET /api/v1/schedules/:id': [get(`${v1}/schedules/${of.schedule}`, 404)],
    'DELETE /api/v1/schedules/:id': [drop(`${v1}/schedules/${of.schedule}`, 404)],
    'POST /api/v1/schedules/:id/run': [post(`${v1}/schedules/${of.schedule}/run`, {}, 404)],
    'GET /api/v1/outbox': [get(`${v1}/outbox`, 200)],
    'GET /api/v1/outbox/:id': [get(`${v1}/outbox/${of.item}`, 404)],
    'POST /api/v1/outbox/:id/retry': [post(`${v1}/outbox/${of.item}/retry`, {}, 404)],
    'POST /api/v1/outbox/:id/cancel': [post(`${v1}/outbox/${of.item}/cancel`, {}, 404)],
    'GET /api/v1/skills': [get(`${v1}/skills`, 403)],
    'POST /api/v1/skills/reload': [post(`${v1}/skills/reload`, {}, 403)],
    'GET /api/v1/skills/:name': [get(`${v1}/skills/zanzibar`, 403)],
    'POST /api/v1/skills/:name/disable': [post(`${v1}/skills/zanzibar/disable`, {}, 403)],
    'POST /api/v1/local/skills/:name/enable': [post(`${v1}/local/skills/zanzibar/enable`, {}, 403)],
    'GET /api/v1/mcp': [get(`${v1}/mcp`, 403)],
    'POST /api/v1/mcp/refresh': [post(`${v1}/mcp/refresh`, {}, 403)],
    // It contains no user data: the speech services of the home.
    'GET /api/v1/voice': [get(`${v1}/voice`, 200)],
    'POST /api/v1/voice/speak': [post(`${v1}/voice/speak`, { text: 'Hello' }, 503)],
    'POST /api/v1/voice/warm': [post(`${v1}/voice/warm`, {}, 200)],
    'POST /api/v1/voice/transcribe': [
      [`${v1}/voice/transcribe`, { body: 'RIFF', headers: { 'content-type': 'audio/wav' } }, 503],
    ],
    'PUT /api/v1/telemetry': [put(`${v1}/telemetry`, { language: 'en' }, 200)],
    'GET /api/v1/local/telegram': [get(`${v1}/local/telegram`, 403)],
    'GET /api/v1/local/telegram/contacts': [get(`${v1}/local/telegram/contacts`, 403)],
    'POST /api/v1/local/telegram/codes': [post(`${v1}/local/telegram/codes`, { user: 'owner' }, 403)],
    'DELETE /api/v1/local/telegram/contacts/:id': [drop(`${v1}/local/telegram/contacts/71`, 403)],
    'GET /api/v1/local/users': [get(`${v1}/local/users`, 403)],
    'POST /api/v1/local/users': [post(`${v1}/local/users`, { name: 'eve' }, 403)],
    'POST /api/v1/local/users/:name/rotate': [post(`${v1}/local/users/${of.user}/rotate`, {}, 403)],
    'PUT /api/v1/local/users/:name/tier': [put(`${v1}/local/users/${of.user}/tier`, { tier: 'jive' }, 403)],
    'POST /api/v1/local/users/:name/remove': [post(`${v1}/local/users/${of.user}/remove`, local, 403)],
    'GET /api/v1/local/tokens': [get(`${v1}/local/tokens`, 403)],
    'POST /api/v1/local/tokens': [post(`${v1}/local/tokens`, { user: of.user }, 403)],
    'POST /api/v1/local/tokens/:id/revoke': [post(`${v1}/local/tokens/${of.session}/revoke`, {}, 403)],
    // Its requests have their own list: mcp-server.test.ts.
    'POST /mcp': [post('/mcp', { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: of.session } }, 400)],
    'GET /mcp': [get('/mcp', 400)],
    'DELETE /mcp': [drop('/mcp', 400)],
    'POST /api/v1/sign-in': [post(`${v1}/sign-in`, { code: of.session }, 401)],
    'POST /api/v1/sign-out': [post(`${v1}/sign-out`, { browser: of.session }, 200)],
    'GET /api/v1/browsers': [get(`${v1}/browsers`, 200)],
    'GET /api/v1/who': [get(`${v1}/who`, 200)],
    'POST /api/v1/local/sign-in-link': [post(`${v1}/local/sign-in-link`, {}, 403)],
    'POST /api/v1/messages': [post(`${v1}/messages`, message, 404)],
    'GET /api/v1/page/notices': [get(`${v1}/page/notices`, 200)],
    'GET /api/v1/page/sessions': [get(`${v1}/page/sessions`, 200)],
    'GET /api/v1/sessions/:id/turn-events': onSession('turn-events', 'GET'),
    'PUT /api/v1/sessions/:id/read': [put(`${v1}/sessions/${of.session}/read`, { seq: 1 }, 404)],
    'PUT /api/v1/sessions/:id/title': [put(`${v1}/sessions/${of.session}/title`, { title: 'Mine' }, 404)],
    'POST /api/v1/sessions/:id/resend': onSession('resend', 'POST', { message_id: 'm', message: 'Hello' }),
    'GET /api/v1/sessions/:id/branches': onSession('branches', 'GET'),
    'PUT /api/v1/sessions/:id/pin': [put(`${v1}/sessions/${of.session}/pin`, { pinned: true }, 404)],
    'PUT /api/v1/sessions/:id/branch': [put(`${v1}/sessions/${of.session}/branch`, { message_id: 'm' }, 404)],
    'DELETE /api/v1/sessions/:id/branches/:message': [drop(`${v1}/sessions/${of.session}/branches/m`, 404)],
    'GET /api/v1/sessions/:id/cards/:call': onSession('cards/call-1', 'GET'),
    'GET /api/v1/sessions/:id/media/:hash': onSession(`media/${'a'.repeat(64)}`, 'GET'),
    'GET /api/v1/sessions/:id/media/:hash/text': onSession(`media/${'a'.repeat(64)}/text`, 'GET'),
    'GET /api/v1/sessions/:id/messages/:message/mention': onSession(
      'messages/message-1/mention?name=%40notes.md',
      'GET',
    ),
    'GET /api/v1/folders': [get(`${v1}/folders`, 200)],
    'POST /api/v1/folders': [post(`${v1}/folders`, { name: 'Mine' }, 201)],
    'PUT /api/v1/folders/:id': [put(`${v1}/folders/${of.folder}`, { name: 'Mine too' }, 404)],
    'DELETE /api/v1/folders/:id': [drop(`${v1}/folders/${of.folder}`, 404)],
    'PUT /api/v1/sessions/folder': [
      put(`${v1}/sessions/folder`, { sessions: [of.session], folder: null }, 404),
      put(`${v1}/sessions/folder`, { sessions: [of.contact], folder: of.folder }, 404),
    ],
    'POST /api/v1/sessions/archive': [post(`${v1}/sessions/archive`, { sessions: [of.session] }, 404)],
    'POST /api/v1/sessions/unarchive': [post(`${v1}/sessions/unarchive`, { sessions: [of.contact] }, 404)],
    'POST /api/v1/sessions/delete': [post(`${v1}/sessions/delete`, { sessions: [of.session] }, 404)],
    'POST /api/v1/sessions/restore': [post(`${v1}/sessions/restore`, { sessions: [of.deleted] }, 404)],
    'GET /api/v1/sessions/deleted': [get(`${v1}/sessions/deleted`, 200)],
    'GET /api/v1/sessions/export': [
      get(`${v1}/sessions/export?sessions=${of.session}&format=html`, 404),
      get(`${v1}/sessions/export?sessions=${of.contact}`, 404),
    ],
    'GET /api/v1/search': [
      get(`${v1}/search?q=zanzibar`, 200),
      get(`${v1}/search?q=zanz&typing=true&kinds=message,memory,file,tool,setting`, 200),
    ],
    'GET /api/v1/search/files/:id': [get(`${v1}/search/files/${of.file}`, 404)],
    'GET /api/v1/openapi.json': [get(`${v1}/openapi.json`, 200)],
  }
}

describe('data of one user', () => {
  let served: ServedFamiliar
  let mine: Owned
  let token: string
  const asking = new AbortController()

  beforeAll(async () => {
    served = await serveFamiliar({ toml, folderTools: { zanzibar_mail: bashTool('zanzibar_mail', 'true') } })
    const { familiar, capabilities, owner, users } = served
    const { userId, database } = familiar
    const { sessionId } = await familiar.say('I live in Zanzibar', { contact: 'zanzibar' })
    await capabilities.publish(
      userId,
      greeterFiles({ 'manifest.json': greeterManifest({ name: 'zanzibar_greeter', description: 'Greets Zanzibar' }) }),
    )
    const build = await capabilities.requestBuild(userId, 'zanzibar_weather')
    const seen = { untrusted: false, private: false }
    void capabilities.desk
      .ask({ build, callId: 'call-1', question: 'Zanzibar?', seen, signal: asking.signal })
      .catch(() => 'ended')
    const scheduled = await served.call({
      path: '/api/v1/schedules',
      token: owner.token,
      body: { cron: '0 9 * * *', message: 'Think of Zanzibar' },
    })
    await database.write((writer) =>
      writer
        .insertInto('approvals')
        .values({
          ...{ id: 'approval-1', user_id: userId, session_id: sessionId, turn_id: 't', call_id: 'c', tool: 'send' },
          ...{ arguments: '{"to":"Zanzibar"}', destination: null, reason: 'It acts.', state: 'asked', seal: 's' },
          ...{ asked_at: 0, expires_at: Date.now() + 3_600_000, answered_at: null, answered_from: null },
        })
        .execute(),
    )
    const { permissions } = familiar
    const to = { userId, tool: 'find_tools', effect: 'reach', destination: 'zanzibar.example', from: 'test' } as const
    const permission = (await permissions.allow(to)).id ?? ''
    await users.add({ name: 'zanzibar-zoe', tier: 'jive' })
    const ben = await users.add({ name: 'ben', tier: 'jive', scope: 'owner' })
    token = ben.made.token
    const ask = (path: string, body?: object) =>
      served.call({ path: `/api/v1/${path}`, token: owner.token, ...(body && { body }) })
    const folder = await ask('folders', { name: 'Zanzibar' })
    const gone = await familiar.say('I left Zanzibar', { contact: 'zanzibar-gone' })
    await ask('sessions/delete', { sessions: [gone.sessionId] })
    const workspace = join(familiar.home, 'workspace')
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'spice.txt'), 'Cloves from Zanzibar')
    const files = (await ask('search?q=zanzibar&kinds=file')).json as { found?: { id: string }[] }
    mine = {
      session: sessionId,
      contact: 'zanzibar',
      approval: 'approval-1',
      permission,
      tool: 'zanzibar_mail',
      capability: 'zanzibar_greeter',
      build: build.id,
      question: `${build.id}.call-1`,
      schedule: String(scheduled.json.id),
      item: await putOut(served, 'Greetings from Zanzibar'),
      user: 'zanzibar-zoe',
      folder: String(folder.json.id),
      deleted: gone.sessionId,
      file: files.found?.[0]?.id ?? '',
    }
    await familiar.learning.idle()
    await familiar.messages.idle()
  })
  afterAll(async () => {
    asking.abort()
    await served.close()
  })

  /** The same shape, without an owner. */
  function nobodys(): Owned {
    const changed = (text: string) => text.replace(/[a-z0-9]$/i, (last) => (last === 'a' ? 'b' : 'a'))
    const build = changed(mine.build)
    const others = Object.entries(mine).map(([key, value]) => [key, changed(value)])
    return { ...(Object.fromEntries(others) as unknown as Owned), build, question: `${build}.call-1` }
  }

  /** The content of a response, without the caller's own input and the time. */
  const wordsOf = (text: string, of: Owned) =>
    Object.values(of)
      .sort((a, b) => b.length - a.length)
      .reduce((rest, id) => rest.replaceAll(id, '<id>'), text)

  async function rowsOfOwner(): Promise<unknown[]> {
    const { database, userId } = served.familiar
    const tables = Object.entries(userTables).flatMap(([table, rule]) => (rule.rows === 'own' ? [table] : []))
    return Promise.all(
      tables.map(async (table) => [
        table,
        (await sql`select * from ${sql.table(table)} where user_id = ${userId}`.execute(database.read)).rows,
      ]),
    )
  }

  it('SEC-22 every route is tried', () => {
    const routes = served.routes.filter(({ path }) => !path.startsWith(elsewhere))
    expect(Object.keys(attemptsWith(mine)).sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort())
  })

  it('SEC-22 no route shows it to another user, changes it, or reveals that it exists', async () => {
    const before = await rowsOfOwner()
    const [real, madeUp] = [attemptsWith(mine), attemptsWith(nobodys())]
    for (const [route, attempts] of Object.entries(real)) {
      for (const [index, [path, call, status]] of attempts.entries()) {
        const answer = await served.call({ path, ...call, token })
        expect({ route, path, status: answer.status, text: answer.text }).toMatchObject({ route, path, status })
        // A refusal may repeat what the caller said, and nothing else.
        const said = status < 400 ? answer.text : wordsOf(answer.text, mine)
        expect(said, route).not.toMatch(/zanzibar/i)
        for (const id of Object.values(mine)) expect(said, route).not.toContain(id)
        if (status < 400) continue
        const [otherPath, otherCall] = madeUp[route]?.[index] ?? ['', {}]
        const other = await served.call({ path: otherPath, ...otherCall, token })
        expect({ route, path, status: other.status, said: wordsOf(other.text, nobodys()) }).toEqual({
          route,
          path,
          status,
          said,
        })
      }
    }
    expect(await rowsOfOwner()).toEqual(before)
  })
})

it('SEC-22 the monitor shows each user their own turns', async () => {
  const release = Promise.withResolvers<void>()
  const model = createScriptedModel({
    async script() {
      await release.promise
      return { text: 'Hello.' }
    },
  })
  const served = await serveFamiliar({ toml, model })
  const { made } = await served.users.add({ name: 'ben', tier: 'jive' })
  await served.familiar.conversations.submit(served.familiar.inbound('Hello', { contact: 'zanzibar' }))
  const monitor = (token?: string) => served.call({ path: '/api/v1/monitor', ...(token && { token }) })
  await expect
    .poll(async () => (await monitor()).json)
    .toMatchObject({ state: 'thinking', turns: [{ contact: 'zanzibar' }] })
  const { json } = await monitor(made.token)
  expect({ state: json.state, turns: json.turns }).toEqual({ state: 'idle', turns: [] })
  release.resolve()
  await served.close()
})
