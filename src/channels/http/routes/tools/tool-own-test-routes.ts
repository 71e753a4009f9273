import { emptyRequestSchema } from '../../../../protocol/api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import { type ToolOwnTestsReply, toolOwnTestsReplySchema } from '../../../../protocol/tool-api.ts'
import { failuresOf, readOwnTests } from '../../../../tools/contract/own-tests.ts'
import type { Telemetry } from '../../../../tools/contract/telemetry.ts'
import type { ToolCatalog } from '../../../../tools/contract/tool-catalog.ts'
import { callerOf } from '../../guards/token-guard.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { findTool } from './tool-reply.ts'

/** The tests that a tool brings along, each in a run of its own. Whoever hangs up ends them. */
export function createToolOwnTestRoutes(tools: ToolCatalog): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:name/tests',
      summary: 'Run the tests in the folder of a tool (tests.json). What fails is in the answer, not in the status.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: toolOwnTestsReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const { signal } = context.req.raw
        const { name, directory } = await findTool(tools, context)
        const reading = directory === null ? undefined : await readOwnTests(directory)
        if (reading?.ok === false && reading.code === 'bad_request')
          throw new FamiliarError('conflict', reading.problem)
        if (!reading?.ok) throw new FamiliarError('not_found', `${name} brings no tests along.`)
        const readiness = await tools.test(userId, name)
        if (!readiness.ok) throw new FamiliarError('conflict', `${name} cannot be tested yet: ${readiness.message}`)
        const tests: ToolOwnTestsReply['tests'] = []
        for (const test of reading.tests) {
          signal.throwIfAborted()
          const telemetry = test.telemetry as Partial<Telemetry>
          const run = await tools.run({ userId, name, params: test.params, telemetry, caller: 'user', signal })
          const failures = failuresOf(test, run)
          tests.push({ name: test.name, ok: failures.length === 0, failures, duration_ms: Math.round(run.durationMs) })
        }
        return jsonReply({ ok: tests.every(({ ok }) => ok), tests } satisfies ToolOwnTestsReply)
      },
    }),
  ]
}
