import { parseJson } from '../../base/json.ts'
import * as buildApi from '../../protocol/build-api.ts'
import * as api from '../../protocol/capability-api.ts'
import { type ToolCallReply, toolCallsReplySchema } from '../../protocol/tool-api.ts'
import { type ApiTransport, notUnderstood } from '../api-transport.ts'
import { type Watched, watchedResult } from '../watched-result.ts'

/** What can be asked of capabilities and their builds over HTTP, typed. */
export interface CapsClient {
  list(query: { state?: string | undefined; query?: string | undefined }): Promise<api.CapabilitySummaryReply[]>
  show(name: string): Promise<api.CapabilityReply>
  run(name: string, request: api.CapabilityRunRequest, signal: AbortSignal): Promise<api.CapabilityRunReply>
  setEnabled(name: string, isEnabled: boolean): Promise<api.CapabilityReply>
  rollback(name: string, version: number | undefined): Promise<api.CapabilityReply>
  diff(name: string, versions: { from?: number | undefined; to?: number | undefined }): Promise<api.CapabilityDiffReply>
  calls(name: string, limit: number): Promise<ToolCallReply[]>
  repair(name: string, problem: string | undefined): Promise<buildApi.BuildReply>
  setSecret(name: string, key: string, value: string): Promise<api.CapabilitySecretReply>
  proposals(): Promise<api.CapabilityProposalsReply['proposals']>
  /** What is wrong with the folder is in the answer. */
  register(directory: string, watched: Watched<api.RegistrationProgress>): Promise<api.RegistrationReply>
  import(directory: string): Promise<api.RegistrationReply>
  approve(name: string, version: number, watched: Watched<api.RegistrationProgress>): Promise<api.RegistrationReply>
  export(name: string, directory: string): Promise<api.CapabilityExportReply>
  builds(query: { name?: string | undefined; limit: number }): Promise<buildApi.BuildReply[]>
  stopBuild(id: string): Promise<boolean>
  /** To the end of the build; where the stream ends before that, it ends here too. */
  buildEvents(id: string, after: number, signal: AbortSignal): AsyncGenerator<buildApi.BuildEvent>
  questions(): Promise<buildApi.BuildQuestionReply[]>
  answer(questionId: string, answer: string): Promise<void>
  giveSecret(questionId: string, value: string): Promise<void>
}

export function createCapsClient(transport: ApiTransport): CapsClient {
  const { ask } = transport
  const one = (name: string, rest = '') => `/capabilities/${encodeURIComponent(name)}${rest}`
  const local = (rest: string) => `/local/capabilities/${rest}`
  const question = (id: string, rest = '') => `/builds/questions/${encodeURIComponent(id)}${rest}`
  const registration = { progress: api.registrationProgressSchema, result: api.registrationReplySchema }
  const watch = (path: string, body: object, watched: Watched<api.RegistrationProgress>) =>
    watchedResult(transport, { path, schemas: registration, watched, request: { body } })

  return {
    list: async (asked) => (await ask(`/capabilities${query(asked)}`, api.capabilitiesReplySchema)).capabilities,
    show: (name) => ask(one(name), api.capabilityReplySchema),
    run: (name, request, signal) => ask(one(name, '/run'), api.capabilityRunReplySchema, { body: request, signal }),
    setEnabled: (name, isEnabled) =>
      ask(one(name, isEnabled ? '/enable' : '/disable'), api.capabilityReplySchema, { body: {} }),
    rollback: (name, version) => ask(one(name, '/rollback'), api.capabilityReplySchema, { body: { version } }),
    diff: (name, versions) => ask(one(name, `/diff${query(versions)}`), api.capabilityDiffReplySchema),
    calls: async (name, limit) => (await ask(one(name, `/calls${query({ limit })}`), toolCallsReplySchema)).calls,
    repair: (name, problem) => ask(one(name, '/repair'), buildApi.buildReplySchema, { body: { problem } }),
    setSecret: (name, key, value) =>
      ask(one(name, `/secrets/${encodeURIComponent(key)}`), api.capabilitySecretReplySchema, {
        method: 'PUT',
        body: { value },
      }),
    proposals: async () => (await ask('/capabilities/proposals', api.capabilityProposalsReplySchema)).proposals,
    register: (directory, watched) => watch(local('register'), { directory }, watched),
    import: (directory) => ask(local('import'), api.registrationReplySchema, { body: { directory } }),
    approve: (name, version, watched) => watch(local(`${encodeURIComponent(name)}/approve`), { version }, watched),
    export: (name, directory) =>
      ask(local(`${encodeURIComponent(name)}/export`), api.capabilityExportReplySchema, { body: { directory } }),
    builds: async (asked) => (await ask(`/builds${query(asked)}`, buildApi.buildsReplySchema)).builds,
    stopBuild: async (id) =>
      (await ask(`/builds/${encodeURIComponent(id)}/stop`, buildApi.buildStopReplySchema, { body: {} })).stopped,
    async *buildEvents(id, after, signal) {
      const path = `/builds/${encodeURIComponent(id)}/events${query({ after })}`
      for await (const { data } of transport.events(path, { signal })) {
        const event = parseJson(data, buildApi.buildEventSchema)
        if (!event.ok) throw notUnderstood(path, event.message)
        yield event.value
      }
    },
    questions: async () => (await ask('/builds/questions', buildApi.buildQuestionsReplySchema)).questions,
    answer: async (id, answer) => {
      await ask(question(id), buildApi.buildAnsweredReplySchema, { body: { answer } })
    },
    giveSecret: async (id, value) => {
      await ask(question(id, '/secret'), buildApi.buildAnsweredReplySchema, { body: { value } })
    },
  }
}

function query(values: Record<string, string | number | undefined>): string {
  const given = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) if (value !== undefined) given.set(key, String(value))
  return given.size === 0 ? '' : `?${given}`
}
