import * as api from '../../protocol/asset-api.ts'
import type { ApiClient } from '../api-client.ts'
import type { CommandContext } from '../command.ts'
import { withFamiliar } from '../connect.ts'

/** Files and blocks by their paths, as the daemon of this home has them. */
export interface FileClient {
  read(request: { path: string; offset?: number | undefined; limit?: number | undefined }): Promise<api.AssetReadReply>
  write(request: { path: string; content: string; etag?: string | undefined }): Promise<api.AssetWrittenReply>
  edit(request: FileEdit): Promise<api.AssetWrittenReply>
  list(path: string): Promise<api.AssetsReply>
  history(path: string): Promise<api.AssetHistoryReply>
  undo(request: { path: string; version?: number | undefined }): Promise<api.AssetWrittenReply>
}

interface FileEdit {
  path: string
  old: string
  new: string
  all?: boolean | undefined
  etag?: string | undefined
}

export function withFiles<T>(context: CommandContext, work: (files: FileClient) => Promise<T>): Promise<T> {
  return withFamiliar(context, (client) => work(createFileClient(client)))
}

function createFileClient({ transport: { ask } }: ApiClient): FileClient {
  const at = (name: string) => `/local/files/${name}`
  return {
    read: (body) => ask(at('read'), api.assetReadReplySchema, { body }),
    write: (body) => ask(at('write'), api.assetWrittenReplySchema, { body }),
    edit: (body) => ask(at('edit'), api.assetWrittenReplySchema, { body }),
    list: (path) => ask(at('list'), api.assetsReplySchema, { body: { path } }),
    history: (path) => ask(at('history'), api.assetHistoryReplySchema, { body: { path } }),
    undo: (body) => ask(at('undo'), api.assetWrittenReplySchema, { body }),
  }
}
