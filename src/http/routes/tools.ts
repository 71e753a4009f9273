import { z } from 'zod'
import { parseAnyJson } from '../../base/json.ts'
import type { ToolCatalog } from '../../custom-tools/catalog.ts'
import { failuresOf, readOwnTests } from '../../custom-tools/new-tool.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { ToolDetails } from '../../protocol/tools.ts'
import * as api from '../../protocol/tools.ts'
import { tokenScopeSchema } from '../../protocol/users.ts'
import type { ClientContext } from '../../tools/client-context.ts'
import type { OpenStreams } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies, HttpSettings, HttpTriggers } from '../dependencies.ts'
import { callerOf, readLimitedText } from '../guards.ts'
import { callerFrom, type McpEndpoint, mcpRefusal, whenBodyEnds } from '../mcp/mcp-caller.ts'
import { commonHeaders, orNotFound } from '../replies.ts'
import { handle, type Route } from '../route.ts'

/** The scheduled and webhook runs of tools, and the secrets of webhooks. */
export function createTriggerRoutes(triggers: HttpTriggers): Route[] {
  return [
    handle(api.triggers.runs, async ({ userId, params, query }) => ({
      runs: await triggers.runs(userId, { tool: params.name, limit: query.limit }),
    })),
    handle(api.triggers.allRuns, async ({ userId, query }) => ({ runs: await triggers.runs(userId, query) })),
    handle(api.triggers.makeSecret, async ({ userId, params }) => ({
      path: `/hooks/${params.name}`,
      secret: await triggers.makeHookSecret(userId, params.name),
    })),
  ]
}

/** Familiar as an MCP server. It checks the scope of the token for each tool. */
export function createMcpServerRoutes(
  endpoint: Pick<McpEndpoint, 'handle'>,
  { settings, streams }: { settings: Pick<HttpSettings, 'maxBodyBytes'>; streams: Pick<OpenStreams, 'open'> },
): Route[] {
  async function answer(context: HttpContext, body?: unknown): Promise<Response> {
    const wanted = tokenScopeSchema.safeParse(context.req.header('familiar-scope')).data
    const caller = callerFrom(callerOf(context), wanted)
    const asked = () => endpoint.handle(context.req.raw, { caller, body })
    const response = await (lasts(context, body) ? inStream(caller.userId, asked) : asked())
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(commonHeaders)) headers.set(name, value)
    return new Response(response.body, { status: response.status, headers })
  }

  /** Counts toward the limit of open streams. */
  async function inStream(userId: string, asked: () => Promise<Response>): Promise<Response> {
    const { release } = streams.open(userId)
    try {
      return whenBodyEnds(await asked(), release)
    } catch (cause) {
      release()
      throw cause
    }
  }

  return [
    handle(
      api.mcpEndpoint.post,
      async ({ context }) => {
        const parsed = parseAnyJson(await readLimitedText(context, settings.maxBodyBytes))
        return parsed.ok ? answer(context, parsed.value) : mcpRefusal(400, -32_700, 'Parse error: the body is not JSON')
      },
      { maxBytes: settings.maxBodyBytes },
    ),
    handle(api.mcpEndpoint.listen, ({ context }) => answer(context)),
    handle(api.mcpEndpoint.end, ({ context }) => answer(context)),
  ]
}

function lasts({ req }: HttpContext, body: unknown): boolean {
  return req.method === 'GET' || listenSchema.safeParse(body).success
}

const listenSchema = z.object({ method: z.literal('subscriptions/listen') })

/** Skills. Only the command line of this machine can approve one (SEC-4). */
export function createSkillRoutes(skills: NonNullable<HttpDependencies['skills']>): Route[] {
  const shown = (name: string) => orNotFound(skills.show(name), `There is no skill named ${name}.`)
  const list = () => ({ skills: skills.list() })
  return [
    handle(api.skills.list, list),
    handle(api.skills.reload, async () => {
      await skills.reload()
      return list()
    }),
    handle(api.skills.show, ({ params }) => shown(params.name)),
    handle(api.skills.enable, async ({ params, body }) => {
      await skills.enable(params.name, body.hash)
      return shown(params.name)
    }),
    handle(api.skills.disable, async ({ params }) => {
      await skills.disable(params.name)
      return shown(params.name)
    }),
  ]
}

/** Tools, by name. No request names a host or a folder (SEC-4). A run ends when its caller hangs up. */
export function createToolRoutes(tools: ToolCatalog): Route[] {
  const shown = async (userId: string, name: string) =>
    orNotFound(await tools.show(userId, name), `There is no tool named ${name}.`)
  const configOf = async (userId: string, name: string) => ({ config: await tools.config(userId, name) })

  return [
    handle(api.tools.list, async ({ userId }) => ({ tools: await tools.list(userId) })),
    handle(api.tools.show, ({ userId, params }) => shown(userId, params.name)),
    handle(api.tools.calls, async ({ userId, params, query }) => ({
      calls: await tools.calls(userId, { tool: params.name, limit: query.limit }),
    })),
    handle(api.tools.config, ({ userId, params }) => configOf(userId, params.name)),
    handle(api.tools.setConfig, async ({ userId, params, body }) => {
      await tools.setConfig(userId, params.name, body)
      return configOf(userId, params.name)
    }),
    handle(api.tools.deleteConfig, async ({ userId, params }) => {
      await tools.deleteConfig(userId, params.name, params.key)
      return configOf(userId, params.name)
    }),
    handle(api.tools.test, ({ userId, params }) => tools.test(userId, params.name)),
    handle(api.tools.run, ({ userId, params, body, signal }) =>
      tools.run({
        userId,
        name: params.name,
        params: body.params,
        telemetry: given(body.telemetry),
        caller: 'user',
        signal,
      }),
    ),
    ...([true, false] as const).map((isOn) =>
      handle(isOn ? api.tools.enable : api.tools.disable, async ({ userId, params }) => {
        await tools.setEnabled(params.name, isOn)
        return shown(userId, params.name)
      }),
    ),
    handle(api.tools.reload, async ({ userId, params }) => {
      await tools.reload()
      return shown(userId, params.name)
    }),
    handle(api.tools.ownTests, async ({ userId, params, signal }) => {
      const { name, directory } = await shown(userId, params.name)
      const reading = directory === null ? undefined : await readOwnTests(directory)
      if (reading?.ok === false && reading.code === 'bad_request') throw new FamiliarError('conflict', reading.problem)
      if (!reading?.ok) throw new FamiliarError('not_found', `${name} has no tests.`)
      const readiness = await tools.test(userId, name)
      if (!readiness.ok) throw new FamiliarError('conflict', `${name} cannot be tested yet: ${readiness.message}`)
      const tests: { name: string; ok: boolean; failures: string[]; durationMs: number }[] = []
      for (const test of reading.tests) {
        signal.throwIfAborted()
        const telemetry = test.telemetry as Partial<ClientContext>
        const run = await tools.run({ userId, name, params: test.params, telemetry, caller: 'user', signal })
        const failures = failuresOf(test, run)
        tests.push({ name: test.name, ok: failures.length === 0, failures, durationMs: run.durationMs })
      }
      return { ok: tests.every(({ ok }) => ok), tests }
    }),
    ...createContractPathRoutes(tools),
  ]
}

/** The paths and replies of the published tool contract. */
function createContractPathRoutes(tools: ToolCatalog): Route[] {
  const done = { ok: true } as const
  return [
    handle(api.toolContract.list, async ({ userId }) => {
      const listed = (await tools.list(userId)).map(async (summary) => ({
        ...summary,
        configSchema: summary.kind === 'contract' ? configSchema(await tools.show(userId, summary.name)) : {},
      }))
      return { tools: await Promise.all(listed) }
    }),
    handle(api.toolContract.config, ({ userId, params }) => tools.config(userId, params.name)),
    handle(api.toolContract.setConfig, async ({ userId, params, body }) => {
      await tools.setConfig(userId, params.name, body)
      return done
    }),
    handle(api.toolContract.deleteConfig, async ({ userId, params }) => {
      await tools.deleteConfig(userId, params.name, params.key)
      return done
    }),
    handle(api.toolContract.test, ({ userId, params }) => tools.test(userId, params.name)),
  ]
}

function configSchema(details: ToolDetails | undefined) {
  const fields = details?.configuration ?? []
  return Object.fromEntries(
    fields.map(({ key, description, isSecret, isRequired, default: byDefault }) => [
      key,
      { description, secret: isSecret, required: isRequired, default: byDefault },
    ]),
  )
}

/** Omitted fields stay omitted, so that they do not override known values with undefined. */
function given<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>
  }
}
