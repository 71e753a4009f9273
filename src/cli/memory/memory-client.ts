import type { z } from 'zod'
import * as factApi from '../../protocol/fact-api.ts'
import * as api from '../../protocol/memory-api.ts'
import * as upkeepApi from '../../protocol/memory-upkeep-api.ts'
import type { ApiRequest, ApiTransport } from '../api-transport.ts'
import type { RequestBody } from '../http-request.ts'
import { type Watched, watchedResult } from '../watched-result.ts'

/** What can be asked of memory over HTTP, typed. */
export interface MemoryClient {
  list(page: { kind?: string | undefined; limit: number; cursor?: string | undefined }): Promise<api.MemoriesReply>
  add(memory: api.MemoryRequest): Promise<api.AddedMemoryReply>
  get(id: string): Promise<api.MemoryDetailReply>
  edit(id: string, edit: api.MemoryEditRequest): Promise<api.EditedMemoryReply>
  forget(idOrTitle: string): Promise<api.ForgottenMemoryReply>
  search(query: {
    q: string
    limit: number
    kind?: string | undefined
    explain: boolean
  }): Promise<api.MemorySearchReply>
  deep(request: api.DeepRecallRequest, watched: Watched<api.DeepProgressReply>): Promise<api.DeepRecallReply>
  changes(limit: number): Promise<api.ChangesReply>
  undo(change: string | undefined): Promise<api.UndoReply>
  forgetEverything(about: string): Promise<api.ForgotEverythingReply>
  facts(query: FactsQuery): Promise<factApi.FactsReply>
  writeFact(fact: factApi.FactRequest): Promise<factApi.WrittenFactReply>
  declareMultiValued(attribute: string): Promise<factApi.AttributeReply>
  commitments(query: {
    state?: string | undefined
    who?: string | undefined
    limit: number
  }): Promise<factApi.CommitmentsReply>
  addCommitment(commitment: factApi.CommitmentRequest): Promise<factApi.AddedCommitmentReply>
  editCommitment(id: string, edit: factApi.CommitmentEditRequest): Promise<factApi.CommitmentReply>
  aliases(): Promise<factApi.AliasesReply>
  addAlias(alias: string, entity: string): Promise<factApi.AddedAliasReply>
  removeAlias(alias: string, entity: string): Promise<factApi.RemovedReply>
  graph(query: { ids?: string | undefined; depth: number; limit: number }): Promise<factApi.GraphReply>
  link(edge: factApi.EdgeRequest): Promise<factApi.EdgeReply>
  unlink(edge: Omit<factApi.EdgeRequest, 'weight'>): Promise<factApi.RemovedReply>
  roots(): Promise<upkeepApi.RootsReply>
  addRoot(path: string): Promise<upkeepApi.AddedRootReply>
  removeRoot(path: string): Promise<factApi.RemovedReply>
  sync(watched: Watched<upkeepApi.SyncProgressReply>): Promise<upkeepApi.SyncReply>
  consolidate(
    session: string | undefined,
    watched: Watched<upkeepApi.ConsolidateProgressReply>,
  ): Promise<upkeepApi.ConsolidatedReply>
  export(format: 'jsonl' | 'markdown', signal: AbortSignal): AsyncGenerator<Uint8Array>
  import(
    file: { data: RequestBody; label: 'untrusted' | 'owner'; addFolders: boolean },
    watched: Watched<upkeepApi.ImportProgressReply>,
  ): Promise<upkeepApi.ImportReply>
  stats(): Promise<upkeepApi.MemoryStatsReply>
}

interface FactsQuery {
  entity?: string | undefined
  attribute?: string | undefined
  value?: string | undefined
  history?: boolean
  count?: boolean
  limit: number
}

export function createMemoryClient(transport: ApiTransport): MemoryClient {
  const { ask, bytes } = transport
  const watch = <Progress, Result>(
    path: string,
    schemas: { progress: z.ZodType<Progress>; result: z.ZodType<Result> },
    watched: Watched<Progress>,
    request: ApiRequest,
  ): Promise<Result> => watchedResult(transport, { path, schemas, watched, request })

  const one = (id: string) => `/memories/${encodeURIComponent(id)}`

  return {
    list: (page) => ask(`/memories${query(page)}`, api.memoriesReplySchema),
    add: (memory) => ask('/memories', api.addedMemoryReplySchema, { body: memory }),
    get: (id) => ask(one(id), api.memoryDetailReplySchema),
    edit: (id, edit) => ask(one(id), api.editedMemoryReplySchema, { method: 'PATCH', body: edit }),
    forget: (idOrTitle) => ask(one(idOrTitle), api.forgottenMemoryReplySchema, { method: 'DELETE' }),
    search: (asked) => ask(`/memories/search${query(asked)}`, api.memorySearchReplySchema),
    deep: (request, watched) =>
      watch('/memories/deep', { progress: api.deepProgressSchema, result: api.deepRecallReplySchema }, watched, {
        body: request,
      }),
    changes: (limit) => ask(`/memories/changes${query({ limit })}`, api.changesReplySchema),
    undo: (change) => ask('/memories/undo', api.undoReplySchema, { body: { change } }),
    forgetEverything: (about) =>
      ask('/memories/forget-everything', api.forgotEverythingReplySchema, { body: { about, confirm: true } }),
    facts: (asked) => ask(`/memories/facts${query({ ...asked })}`, factApi.factsReplySchema),
    writeFact: (fact) => ask('/memories/facts', factApi.writtenFactReplySchema, { body: fact }),
    declareMultiValued: (attribute) =>
      ask('/memories/attributes', factApi.attributeReplySchema, { body: { attribute, is_multi_valued: true } }),
    commitments: (asked) => ask(`/memories/commitments${query(asked)}`, factApi.commitmentsReplySchema),
    addCommitment: (commitment) =>
      ask('/memories/commitments', factApi.addedCommitmentReplySchema, { body: commitment }),
    editCommitment: (id, edit) =>
      ask(`/memories/commitments/${encodeURIComponent(id)}`, factApi.commitmentReplySchema, {
        method: 'PATCH',
        body: edit,
      }),
    aliases: () => ask('/memories/aliases', factApi.aliasesReplySchema),
    addAlias: (alias, entity) => ask('/memories/aliases', factApi.addedAliasReplySchema, { body: { alias, entity } }),
    removeAlias: (alias, entity) =>
      ask(`/memories/aliases${query({ alias, entity })}`, factApi.removedReplySchema, { method: 'DELETE' }),
    graph: (asked) => ask(`/memories/graph${query(asked)}`, factApi.graphReplySchema),
    link: (edge) => ask('/memories/edges', factApi.edgeReplySchema, { body: edge }),
    unlink: (edge) => ask(`/memories/edges${query(edge)}`, factApi.removedReplySchema, { method: 'DELETE' }),
    roots: () => ask('/memories/roots', upkeepApi.rootsReplySchema),
    addRoot: (path) => ask('/memories/roots', upkeepApi.addedRootReplySchema, { body: { path } }),
    removeRoot: (path) => ask(`/memories/roots${query({ path })}`, factApi.removedReplySchema, { method: 'DELETE' }),
    sync: (watched) =>
      watch('/memories/sync', { progress: upkeepApi.syncProgressSchema, result: upkeepApi.syncReplySchema }, watched, {
        body: {},
      }),
    consolidate: (session, watched) =>
      watch(
        '/memories/consolidate',
        { progress: upkeepApi.consolidateProgressSchema, result: upkeepApi.consolidatedReplySchema },
        watched,
        { body: { session } },
      ),
    export: (format, signal) => bytes(`/memories/export${query({ format })}`, { signal }),
    import: ({ data, label, addFolders }, watched) =>
      watch(
        `/memories/import${query({ label, add_folders: addFolders })}`,
        { progress: upkeepApi.importProgressSchema, result: upkeepApi.importReplySchema },
        watched,
        // What it is shows in its first line; the type only says that it is no form.
        { raw: { mediaType: 'application/x-ndjson', data } },
      ),
    stats: () => ask('/memories/stats', upkeepApi.memoryStatsReplySchema),
  }
}

function query(values: Record<string, string | number | boolean | undefined>): string {
  const given = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) if (value !== undefined) given.set(key, String(value))
  return given.size === 0 ? '' : `?${given}`
}
