import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorStatus } from '../../src/protocol/error.ts'
import { type ServedFamiliar, serveFamiliar } from '../security/http-support.ts'

describe('what clients rely on', () => {
  let served: ServedFamiliar
  beforeAll(async () => {
    served = await serveFamiliar()
  })
  afterAll(() => served.close())

  it('HTTP-1 the routes, who may call them, and the status of success', () => {
    const who: Record<string, string> = { optional: 'open', signature: 'signed' }
    const lines = served.routes.map(({ method, path, auth, scope, isLocal, body, rawBody, reply }) => {
      const takes = body ? 'body' : rawBody ? 'lines' : '-'
      return [method, path, isLocal ? 'local' : (who[auth] ?? scope), takes, reply.status].join(' ')
    })
    expect(lines.sort()).toEqual([
      'DELETE /api/v1/memories/:id owner - 200',
      'DELETE /api/v1/memories/aliases owner - 200',
      'DELETE /api/v1/memories/edges owner - 200',
      'DELETE /api/v1/memories/roots owner - 200',
      'DELETE /api/v1/schedules/:id chat - 200',
      'DELETE /api/v1/tools/:name/config/:key owner - 200',
      'DELETE /tools/:name/config/:key owner - 200',
      'GET /api/builder/status read - 200',
      'GET /api/v1/approvals read - 200',
      'GET /api/v1/builds read - 200',
      'GET /api/v1/builds/:id read - 200',
      'GET /api/v1/builds/:id/events read - 200',
      'GET /api/v1/builds/questions read - 200',
      'GET /api/v1/capabilities read - 200',
      'GET /api/v1/capabilities/:name read - 200',
      'GET /api/v1/capabilities/:name/calls read - 200',
      'GET /api/v1/capabilities/:name/diff read - 200',
      'GET /api/v1/capabilities/proposals read - 200',
      'GET /api/v1/cost read - 200',
      'GET /api/v1/local/users local - 200',
      'GET /api/v1/mcp read - 200',
      'GET /api/v1/memories read - 200',
      'GET /api/v1/memories/:id read - 200',
      'GET /api/v1/memories/aliases read - 200',
      'GET /api/v1/memories/changes read - 200',
      'GET /api/v1/memories/commitments read - 200',
      'GET /api/v1/memories/export read - 200',
      'GET /api/v1/memories/facts read - 200',
      'GET /api/v1/memories/graph read - 200',
      'GET /api/v1/memories/roots read - 200',
      'GET /api/v1/memories/search read - 200',
      'GET /api/v1/memories/stats read - 200',
      'GET /api/v1/monitor read - 200',
      'GET /api/v1/openapi.json read - 200',
      'GET /api/v1/runs read - 200',
      'GET /api/v1/schedules read - 200',
      'GET /api/v1/schedules/:id read - 200',
      'GET /api/v1/sessions read - 200',
      'GET /api/v1/sessions/:id/context read - 200',
      'GET /api/v1/sessions/:id/events read - 200',
      'GET /api/v1/sessions/:id/history read - 200',
      'GET /api/v1/sessions/:id/spawns read - 200',
      'GET /api/v1/skills read - 200',
      'GET /api/v1/skills/:name read - 200',
      'GET /api/v1/status open - 200',
      'GET /api/v1/tools read - 200',
      'GET /api/v1/tools/:name read - 200',
      'GET /api/v1/tools/:name/calls read - 200',
      'GET /api/v1/tools/:name/config read - 200',
      'GET /api/v1/tools/:name/runs read - 200',
      'GET /tools read - 200',
      'GET /tools/:name/config read - 200',
      'PATCH /api/v1/memories/:id owner body 200',
      'PATCH /api/v1/memories/commitments/:id owner body 200',
      'POST /api/chat chat body 200',
      'POST /api/v1/approvals/:id chat body 200',
      'POST /api/v1/builds/:id/stop chat body 200',
      'POST /api/v1/builds/questions/:id chat body 200',
      'POST /api/v1/builds/questions/:id/secret chat body 200',
      'POST /api/v1/capabilities/:name/disable owner body 200',
      'POST /api/v1/capabilities/:name/enable owner body 200',
      'POST /api/v1/capabilities/:name/repair chat body 202',
      'POST /api/v1/capabilities/:name/rollback owner body 200',
      'POST /api/v1/capabilities/:name/run chat body 200',
      'POST /api/v1/chat chat body 200',
      'POST /api/v1/hooks/:tool signed lines 202',
      'POST /api/v1/local/capabilities/:name/approve local body 200',
      'POST /api/v1/local/capabilities/:name/export local body 201',
      'POST /api/v1/local/capabilities/import local body 200',
      'POST /api/v1/local/capabilities/register local body 200',
      'POST /api/v1/local/skills/:name/enable local body 200',
      'POST /api/v1/local/users local body 201',
      'POST /api/v1/local/users/:name/remove local body 200',
      'POST /api/v1/local/users/:name/rotate local body 200',
      'POST /api/v1/mcp/refresh owner body 200',
      'POST /api/v1/memories owner body 201',
      'POST /api/v1/memories/aliases owner body 201',
      'POST /api/v1/memories/attributes owner body 201',
      'POST /api/v1/memories/commitments owner body 201',
      'POST /api/v1/memories/consolidate owner body 200',
      'POST /api/v1/memories/deep chat body 200',
      'POST /api/v1/memories/edges owner body 201',
      'POST /api/v1/memories/facts owner body 201',
      'POST /api/v1/memories/forget-everything owner body 200',
      'POST /api/v1/memories/import owner lines 200',
      'POST /api/v1/memories/roots owner body 201',
      'POST /api/v1/memories/sync owner body 200',
      'POST /api/v1/memories/undo owner body 200',
      'POST /api/v1/notify chat body 202',
      'POST /api/v1/schedules chat body 201',
      'POST /api/v1/schedules/:id/run chat body 200',
      'POST /api/v1/schedules/heartbeat chat body 201',
      'POST /api/v1/sessions/:id/compact owner body 200',
      'POST /api/v1/sessions/:id/fork owner body 201',
      'POST /api/v1/sessions/:id/mark owner body 200',
      'POST /api/v1/sessions/:id/rewind owner body 200',
      'POST /api/v1/sessions/:id/stop chat body 200',
      'POST /api/v1/sessions/:id/tool-results chat body 200',
      'POST /api/v1/sessions/reset owner body 200',
      'POST /api/v1/skills/:name/disable owner body 200',
      'POST /api/v1/skills/reload owner body 200',
      'POST /api/v1/tools/:name/disable owner body 200',
      'POST /api/v1/tools/:name/enable owner body 200',
      'POST /api/v1/tools/:name/hook owner body 201',
      'POST /api/v1/tools/:name/reload owner body 200',
      'POST /api/v1/tools/:name/run owner body 200',
      'POST /api/v1/tools/:name/test owner body 200',
      'POST /hooks/:tool signed lines 202',
      'POST /tools/:name/test owner body 200',
      'PUT /api/v1/capabilities/:name/secrets/:key owner body 200',
      'PUT /api/v1/local/users/:name/tier local body 200',
      'PUT /api/v1/telemetry chat body 200',
      'PUT /api/v1/tools/:name/config owner body 200',
      'PUT /tools/:name/config owner body 200',
    ])
  })

  it('HTTP-2 the status of every error code', () => {
    expect(errorStatus).toEqual({
      bad_request: 400,
      unauthorized: 401,
      forbidden: 403,
      not_found: 404,
      method_not_allowed: 405,
      timeout: 408,
      conflict: 409,
      payload_too_large: 413,
      unsupported_media_type: 415,
      rate_limited: 429,
      internal: 500,
      provider_error: 502,
      unavailable: 503,
      storage_full: 503,
      provider_timeout: 504,
    })
  })

  it('HTTP-1 the keys of an answer to /chat and to /notify', async () => {
    const body = { message: 'Hello' }
    const chat = await served.call({ path: '/api/v1/chat', body })
    expect(Object.keys(chat.json)).toEqual([
      'reply',
      'session_id',
      'turn_id',
      'outcome',
      'pending_question',
      'deliver',
      'tool_calls',
      'cards',
      'model',
      'rounds',
      'usage',
      'cost_usd',
      'memories',
      'meta',
    ])
    const notify = await served.call({ path: '/api/v1/notify', body })
    expect(Object.keys(notify.json)).toEqual(['message_id', 'session_id', 'duplicate'])
  })
})
