import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import type { FinderQuestion } from '../tools/files/finders.ts'
import { createFinderRoutes } from './app.ts'
import type { HttpEnv } from './dependencies.ts'
import { errorReplyFor } from './replies.ts'
import { answer } from './route.ts'

describe('GET /api/v1/finder', () => {
  const asked: Omit<FinderQuestion, 'signal'>[] = []
  const [route] = createFinderRoutes({
    async find({ signal: _signal, ...question }) {
      asked.push(question)
      return { found: [{ name: 'a.md', reference: '@a.md' }], total: 3, isIndexing: true, isCut: false }
    },
  })
  const app = new Hono<HttpEnv>()
  app.get('/api/v1/finder', (context) => {
    context.set('caller', { userId: 'max', isOwner: true, scope: 'owner', tokenId: 'one' })
    if (!route) throw new Error('There is no route')
    return answer(route, context, 1_000)
  })
  app.onError((cause) => errorReplyFor(cause, silentLogger))

  it('ASSET-6 asks for the caller and answers with names', async () => {
    const reply = await app.request('/api/v1/finder?kind=block&query=pl&limit=5')
    expect(await reply.json()).toEqual({
      found: [{ name: 'a.md', reference: '@a.md' }],
      total: 3,
      is_indexing: true,
      is_cut: false,
    })
    expect(asked).toEqual([{ userId: 'max', kind: 'block', query: 'pl', limit: 5 }])
    expect(route).toMatchObject({ method: 'GET', auth: 'token', scope: 'owner' })
  })

  it.each(['kind=folder', 'limit=0', 'limit=1000', 'user=ann', `query=${'x'.repeat(201)}`])(
    'ASSET-6 refuses %s',
    async (query) => {
      expect((await app.request(`/api/v1/finder?${query}`)).status).toBe(400)
    },
  )
})
