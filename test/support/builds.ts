import { join } from 'node:path'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createWakeups } from '../../src/base/work.ts'
import type { Build, BuildWork } from '../../src/custom-tools/builder/builds.ts'
import type { Builds } from '../../src/custom-tools/builder/create-builds.ts'
import { createBuilds, type OnBuildStep } from '../../src/custom-tools/builder/create-builds.ts'
import { createCapabilityGate } from '../../src/custom-tools/builder/gate.ts'
import { createBuilderTools } from '../../src/custom-tools/builder/tools.ts'
import { createCapabilityCatalog } from '../../src/custom-tools/built-catalog.ts'
import { createVersionStore } from '../../src/custom-tools/versions.ts'
import type { BuildEvent } from '../../src/protocol/custom-tools.ts'
import type { Json } from '../../src/protocol/messages.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import { openCapabilities } from './capabilities.ts'
import { toolContext } from './tool-context.ts'

type Wanted = Parameters<Builds['request']>[0]

/** Builds, their Builder's tools and the gate, with everything real but for the loop: a test says what the model would do. */
export async function openBuilds(
  options: Parameters<typeof openCapabilities>[0] & { destinations?: readonly string[] },
) {
  const home = await openCapabilities(options)
  const { database, clock, vault, executor, sandbox, redactor } = home
  const ids = createIds(clock)
  const logger = silentLogger
  const versions = createVersionStore({ directory: join(home.home, 'capabilities') })
  const catalog = createCapabilityCatalog({ database, versions, clock, ids, logger })
  await catalog.start()
  const gate = createCapabilityGate({
    executor,
    catalog,
    sandbox,
    redactor,
    directory: join(home.home, 'gate'),
    logger,
  })
  const states = new Map<string, 'alive' | 'over'>()
  const steps: string[] = []
  const messages: string[] = []
  const work: BuildWork = {
    async begin(build, text) {
      if (states.has(build.id)) return
      states.set(build.id, 'alive')
      messages.push(text)
      const row = { id: sessionOf(build), user_id: build.userId, channel: 'builder', contact: build.id }
      const rest = { state: 'active', last_seq: 0, last_input_tokens: 0, created_at: 0, updated_at: 0 } as const
      await database.write((writer) =>
        writer
          .insertInto('sessions')
          .values({ ...row, ...rest })
          .execute(),
      )
    },
    async stop(build) {
      states.set(build.id, 'over')
    },
    state: async ({ id }) => states.get(id) ?? 'unbegun',
  }
  let onStep: OnBuildStep = () => {}
  const wakeups = createWakeups()
  const step: OnBuildStep = (name) => {
    steps.push(name)
    onStep(name)
  }
  const builds = createBuilds({ database, catalog, vault, work, clock, ids, wakeups, logger, onStep: step })
  const tools = createBuilderTools({
    builds,
    gate,
    executor,
    database,
    directory: join(home.home, 'tries'),
    policy: () => ({ mode: 'balanced', destinations: options.destinations ?? [] }),
    logger,
    onStep: step,
  })
  let calls = 0

  return {
    ...home,
    catalog,
    builds,
    tools,
    states,
    steps,
    messages,
    setOnStep(next: OnBuildStep) {
      onStep = next
    },
    request: (changes: Partial<Wanted> = {}) =>
      builds.request({
        userId: 'max',
        name: 'weather_lookup',
        kind: 'build',
        request: {
          description: 'Look up the weather of a city.',
          inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          failure: null,
          seen: { untrusted: false, private: false },
        },
        sessionId: 'chat',
        callId: null,
        ...changes,
      }),
    /** A call of the Builder's, as the loop would make it. */
    call(build: Build, name: string, input: { [key: string]: Json }, more: Partial<ToolContext> = {}) {
      calls += 1
      const tool = tools.find(({ definition }) => definition.name === name)
      if (!tool) throw new Error(`There is no tool ${name}`)
      const context = { userId: build.userId, sessionId: sessionOf(build), callId: `call-${calls}`, ...more }
      return tool.run(input, toolContext(context))
    },
    eventsOf: (build: Build) => builds.eventsSoFar({ userId: build.userId, buildId: build.id, after: 0 }),
    /** Resolves with the next event of this type, or the one that is there. */
    async waitForEvent<Type extends BuildEvent['type']>(build: Build, type: Type) {
      const signal = AbortSignal.timeout(20_000)
      for await (const event of builds.events({ userId: build.userId, buildId: build.id, after: 0, signal })) {
        if (event.type === type) return event as Extract<BuildEvent, { type: Type }>
      }
      throw new Error(`The build ended without an event of type ${type}`)
    },
    async close() {
      await builds.close()
      await home.close()
    },
  }
}

function sessionOf(build: Build): string {
  return `session of ${build.id}`
}

export type BuildsHome = Awaited<ReturnType<typeof openBuilds>>
