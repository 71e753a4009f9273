import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { GuardName } from '../../src/http/guards.ts'
import type { Route } from '../../src/http/route.ts'
import { bashTool } from '../support/published-tools.ts'
import {
  type Answer,
  attachmentLimit,
  bodyLimit,
  type Call,
  pathOf,
  type ServedFamiliar,
  serveFamiliar,
} from './http-support.ts'
import { askBySecretLink } from './secret-link.ts'

/** One way to be refused: what is sent to a route, and what has to come back. */
interface Refusal {
  name: string
  guard: GuardName | undefined
  call(route: Route, token: string): Partial<Call>
  /** Undefined: this route does not refuse it. `known` are the methods of its path. */
  expected(route: Route, known: readonly string[]): { status: number; code: string } | undefined
}

const always = (status: number, code: string) => () => ({ status, code })
const whereTokens = (status: number, code: string) => (route: Route) =>
  route.auth === 'token' ? { status, code } : undefined
const whereSigned = (status: number, code: string) => (route: Route) =>
  route.auth === 'signature' ? { status, code } : undefined
const whereLinks = (status: number, code: string) => (route: Route) =>
  route.auth === 'link' ? { status, code } : undefined
/** Problems in a body of lines are reported line by line, not as a rejection. */
const unlessLines = (status: number, code: string) => (route: Route) => (route.rawBody ? undefined : { status, code })
const largest = bodyLimit + Math.ceil(attachmentLimit / 3) * 4
const tooLarge = ({ maxBytes }: Route) => JSON.stringify({ message: 'x'.repeat(Math.max(largest, maxBytes ?? 0)) })
const foreignMethods = ['DELETE', 'PUT', 'PATCH', 'OPTIONS']

const refusals: Refusal[] = [
  {
    name: 'SEC-1 no token',
    guard: 'token',
    call: () => ({ token: null }),
    expected: whereTokens(401, 'unauthorized'),
  },
  {
    name: 'SEC-3 a wrong token',
    guard: 'token',
    call: (_route, token) => ({ token: `${token.slice(0, -1)}_` }),
    expected: always(401, 'unauthorized'),
  },
  {
    name: 'SEC-2 a token in the URL',
    guard: 'token',
    call: (route, token) => ({ token: null, path: `${pathOf(route, 'main')}?token=${token}` }),
    expected: whereTokens(401, 'unauthorized'),
  },
  {
    name: 'TOOL-7 a token in place of a signature',
    guard: 'signature',
    call: () => ({}),
    expected: whereSigned(401, 'unauthorized'),
  },
  {
    name: 'TOOL-7 a wrong signature',
    guard: 'signature',
    call: () => ({
      token: null,
      headers: {
        'x-familiar-timestamp': String(Math.floor(Date.now() / 1_000)),
        'x-familiar-nonce': 'a-nonce-of-its-own',
        'x-familiar-signature': '0'.repeat(64),
      },
    }),
    expected: whereSigned(401, 'unauthorized'),
  },
  {
    name: 'SEC-13 a link that was never made',
    guard: 'link',
    call: (route) => ({ token: null, path: route.path.replace(':token', 'A'.repeat(43)) }),
    // For a person: the error is a page.
    expected: whereLinks(404, 'page'),
  },
  {
    name: 'SEC-13 a token in place of a link',
    guard: 'link',
    call: (route, token) => ({ path: route.path.replace(':token', token) }),
    expected: whereLinks(404, 'page'),
  },
  {
    name: 'SEC-4 the owner’s token where only this machine’s command line may call',
    guard: 'local',
    call: () => ({}),
    expected: ({ isLocal }) => (isLocal ? { status: 403, code: 'forbidden' } : undefined),
  },
  {
    name: 'SEC-2 the Host of an attacker',
    guard: 'host',
    call: () => ({ headers: { host: 'attacker.example:8100' } }),
    expected: always(403, 'forbidden'),
  },
  {
    name: 'SEC-2 no Host',
    guard: 'host',
    call: () => ({ headers: { host: null } }),
    expected: always(403, 'forbidden'),
  },
  {
    name: 'SEC-2 a foreign Origin',
    guard: 'origin',
    call: () => ({ headers: { origin: 'https://attacker.example' } }),
    expected: always(403, 'forbidden'),
  },
  {
    name: 'SEC-2 the Origin null',
    guard: 'origin',
    call: () => ({ headers: { origin: 'null' } }),
    expected: always(403, 'forbidden'),
  },
  ...foreignMethods.map(
    (method): Refusal => ({
      name: `HTTP-2 the method ${method}`,
      guard: 'method',
      call: () => ({ method }),
      expected: (_route, known) => (known.includes(method) ? undefined : { status: 405, code: 'method_not_allowed' }),
    }),
  ),
  {
    name: 'SEC-2 a body without a content type',
    guard: 'content_type',
    call: () => ({ body: '{}', headers: { 'content-type': null } }),
    expected: always(415, 'unsupported_media_type'),
  },
  {
    name: 'SEC-2 a body as a form sends it',
    guard: 'content_type',
    call: () => ({ body: '{}', headers: { 'content-type': 'text/plain' } }),
    expected: always(415, 'unsupported_media_type'),
  },
  {
    name: 'HTTP-2 broken JSON',
    guard: undefined,
    call: () => ({ body: '{"message": "hel' }),
    expected: unlessLines(400, 'bad_request'),
  },
  {
    name: 'HTTP-2 a key that nobody knows',
    guard: undefined,
    call: () => ({ body: { surprise: true } }),
    expected: unlessLines(400, 'bad_request'),
  },
  {
    name: 'SEC-18 a body over the limit',
    guard: 'body_size',
    call: (route) => ({ body: tooLarge(route) }),
    expected: always(413, 'payload_too_large'),
  },
  {
    name: 'SEC-18 a body over the limit that does not say so',
    guard: 'body_size',
    call: (route) => ({ body: tooLarge(route), chunked: true }),
    // Without a body in the route, none is read, however long it is.
    expected: ({ body, rawBody }) =>
      body || rawBody ? { status: 413, code: 'payload_too_large' } : { status: 400, code: 'bad_request' },
  },
]

/** Familiar with a link that holds. */
interface Scene extends ServedFamiliar {
  linkToken: string
}

async function openScene(options: Parameters<typeof serveFamiliar>[0]): Promise<Scene> {
  const served = await serveFamiliar(options)
  await served.familiar.say('Hello')
  const { token } = await askBySecretLink(served)
  return { ...served, linkToken: token }
}

function send(served: Scene, route: Route, refusal: Refusal): Promise<Answer> {
  const call = {
    method: route.method,
    path: pathOf(route, 'main').replace(':token', served.linkToken),
    ...(route.isLocal && refusal.guard !== 'local' && { token: served.localToken }),
    ...refusal.call(route, served.owner.token),
  }
  const type = call.body !== undefined && route.rawBody?.mediaTypes[0]
  return served.call(type ? { ...call, headers: { 'content-type': type, ...call.headers } } : call)
}

/** OpenAI’s clients know another shape; requests that are not HTTP are refused before their path is known. */
function toldBy({ path }: Route, json: Answer['json']): Answer['json'] {
  const isOurs = !path.startsWith('/v1/') || json.error === 'This is not a valid HTTP request.'
  return isOurs ? json : (json.error as Answer['json'])
}

function methodsOf(served: ServedFamiliar, { path }: Route): string[] {
  return served.routes.filter((route) => route.path === path).map(({ method }) => method)
}

describe('every route × every refusal', () => {
  let served: Scene
  beforeAll(async () => {
    // Which settings there are depends on the tool.
    served = await openScene({ folderTools: { mail: bashTool('mail', 'true') } })
  })
  afterAll(() => served.close())

  it('HTTP-1 the list that is tested is the router’s own', () => {
    const unique = new Set(served.routerPaths.map(({ method, path }) => `${method} ${path}`))
    expect([...unique].sort()).toEqual(served.routes.map(({ method, path }) => `${method} ${path}`).sort())
    expect(served.routes.length).toBeGreaterThan(15)
  })

  for (const refusal of refusals) {
    it(`${refusal.name} is refused by every route`, async () => {
      for (const route of served.routes) {
        const known = methodsOf(served, route)
        const expected = refusal.expected(route, known)
        if (!expected) continue
        const { status, json, headers } = await send(served, route, refusal)
        const told = toldBy(route, json)
        const isPage = headers['content-type']?.startsWith('text/html')
        expect({ route: `${route.method} ${route.path}`, status, code: isPage ? 'page' : told.code }).toEqual({
          route: `${route.method} ${route.path}`,
          ...expected,
        })
        const keys = told === json ? ['code', 'error'] : ['code', 'message', 'param', 'type']
        expect(Object.keys(told).sort()).toEqual(isPage ? [] : keys)
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
        if (status === 401) expect(headers['www-authenticate']).toBe('Bearer')
        const allow = known.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
        if (status === 405) expect(headers.allow).toBe(allow)
      }
    })
  }

  it('HTTP-2 nothing that was refused reached a session', async () => {
    const sessions = await served.familiar.conversations.sessions(served.familiar.userId, { includeArchived: true })
    expect(sessions.map(({ contact, state }) => ({ contact, state }))).toEqual([{ contact: 'main', state: 'active' }])
  })
})

describe('a guard that is switched off turns the matrix red', () => {
  // One that needs no user behind the guard, one that takes a body, one that is signed, one of this machine alone, one
  // behind a link; none leaves a trace.
  const local = '/api/v1/local/capabilities/:name/approve'
  const probes = ['/api/v1/monitor', '/api/v1/sessions/:id/stop', '/hooks/:tool', local, '/secret/:token']
  const guards = new Set(refusals.flatMap(({ guard }) => (guard ? [guard] : [])))

  for (const guard of guards) {
    it(`SEC-2 without the guard "${guard}" its refusals are gone, and all others stay`, async () => {
      const served = await openScene({ without: guard })
      const routes = served.routes.filter(({ path }) => probes.includes(path))
      for (const refusal of refusals) {
        // The signature check also reads the body: without it nothing of a signed call is read, as with an unchecked
        // link. And without the guard that identifies the caller, no request counts as this machine's command line.
        const isUnseen = ({ auth, isLocal }: Route) =>
          (auth !== 'token' && auth === guard) || (guard === 'token' && isLocal)
        const isLookedAt = (route: Route) => refusal.guard === guard || !isUnseen(route)
        const refusing = routes.filter(
          (route) => isLookedAt(route) && refusal.expected(route, methodsOf(served, route)) !== undefined,
        )
        const expected = refusing.map((route) => refusal.expected(route, methodsOf(served, route))?.status)
        const answers = await Promise.all(refusing.map((route) => send(served, route, refusal)))
        const got = answers.map(({ status }) => status)
        if (refusal.guard === guard) expect(got, refusal.name).not.toEqual(expected)
        else expect(got, refusal.name).toEqual(expected)
      }
      await served.close()
    })
  }
})
