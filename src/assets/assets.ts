import type { Label } from '../protocol/label.ts'
import type { AssetActor, AssetEntry, AssetList, AssetPlace } from './asset-backend.ts'
import type { AssetFailure } from './asset-failure.ts'
import type { AssetVersion } from './asset-versions.ts'
import type { TextPage } from './cut-page.ts'

interface Known extends AssetPlace {
  ok: true
  /** Of the whole content. */
  etag: string
  version: number
  trust: Label
  modifiedAt: number
}

export type AssetRead = Known & TextPage
export type AssetText = Known & { content: string }

export interface AssetWritten extends AssetPlace {
  ok: true
  isNew: boolean
  /** False where it was so already: nothing was written. */
  isChanged: boolean
  /** Null where it is gone now. */
  etag: string | null
  version: number
  trust: Label
}

/** Absent: whatever is there. Null: only where nothing is there. */
type Etag = string | null | undefined

/**
 * Files and blocks, named alike: `notes/x.md`, `familiar:///blocks/x.md`. Every expected failure is data.
 *
 * Nothing is lost by a change: what was there is a version. An undo is a change like any other, and is undone like one.
 */
export interface Assets {
  /** Some lines of it, with a note of how to read on where there are more. */
  read(
    actor: AssetActor,
    request: { path: string; offset?: number | undefined; limit?: number | undefined },
  ): Promise<AssetRead | AssetFailure>
  /** All of it, where it is not larger than what can be written. */
  load(actor: AssetActor, request: { path: string }): Promise<AssetText | AssetFailure>
  write(
    actor: AssetActor,
    request: { path: string; content: string; etag?: Etag },
  ): Promise<AssetWritten | AssetFailure>
  edit(
    actor: AssetActor,
    request: { path: string; old: string; new: string; all?: boolean | undefined; etag?: Etag },
  ): Promise<(AssetWritten & { count: number }) | AssetFailure>
  /** It is gone, and its versions stay: an undo brings it back. */
  remove(actor: AssetActor, request: { path: string; etag?: Etag }): Promise<AssetWritten | AssetFailure>
  /** What lies under a folder; an empty prefix is the workspace. */
  list(actor: AssetActor, request: { prefix: string }): Promise<AssetList | AssetFailure>
  stat(actor: AssetActor, request: { path: string }): Promise<({ ok: true } & AssetEntry) | AssetFailure>
  /** The newest first. */
  history(
    actor: AssetActor,
    request: { path: string },
  ): Promise<({ ok: true; versions: AssetVersion[] } & AssetPlace) | AssetFailure>
  /** Puts back the version before, or that one. */
  undo(
    actor: AssetActor,
    request: { path: string; version?: number | undefined; etag?: Etag },
  ): Promise<(AssetWritten & { restored: number }) | AssetFailure>
}
