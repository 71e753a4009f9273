import type { Label } from '../protocol/label.ts'
import type { Writer } from '../storage/database.ts'
import type { AssetFailure } from './asset-failure.ts'

/** Who asks. Whatever is somebody else's does not exist for them. */
export interface AssetActor {
  userId: string
  author: 'user' | 'agent'
  /** Whose pins count: `main`, or what `sessions.agent` says. */
  agent: string
  /** Whose words it is that they write. */
  trust: Label
}

/** One thing under its one address, however it was named. */
export interface AssetPlace {
  uri: string
  /** As it is shown, and can be given again. */
  path: string
}

export interface StoredAsset {
  content: string
  /** Whose words it is, where nothing is on record. */
  trust: Label
  modifiedAt: number
}

export interface AssetEntry extends AssetPlace {
  bytes: number
  modifiedAt: number
}

export interface AssetList {
  ok: true
  entries: AssetEntry[]
  /** There is more than is listed. */
  isCut: boolean
}

/** What is there after a change; null content: nothing is. */
export interface NextAsset {
  ok: true
  content: string | null
  trust: Label
}

/** With `isSame`, that is what is there already. */
export type PlannedAsset = NextAsset & { isSame: boolean }

/** A change that is still to be made to whatever will be there then. */
export interface AssetChange {
  /** Told from what is there. Waits for nothing, and may be asked again. */
  next(found: StoredAsset | undefined): PlannedAsset | AssetFailure
  /**
   * Keeps what is there and what will be, and answers with the version. In `writer`'s unit where the backend has one;
   * otherwise it is called before the change is made, so that nothing is ever lost.
   */
  record(step: RecordedStep, writer?: Writer): Promise<number>
  /** The change that was recorded as this version could not be made. */
  takeBack(version: number): Promise<void>
}

export interface RecordedStep {
  found: StoredAsset | undefined
  next: NextAsset
}

export interface AssetChanged {
  ok: true
  next: NextAsset
  /** Null where it was so already, and nothing was done. */
  version: number | null
}

/**
 * Where texts lie. All of reading by lines, editing, versions and undo is done outside, the same for every backend.
 *
 * A backend answers expected failures as data, and throws only for faults. It must not show or change anything outside
 * of what the actor may reach, whatever path it is given.
 */
export interface AssetBackend {
  /** What its addresses begin with, before `://`; `file` has the plain paths. */
  readonly scheme: string
  /** The one address of what is named; that it has one does not mean that it is there. */
  locate(actor: AssetActor, path: string): Promise<({ ok: true } & AssetPlace) | AssetFailure>
  /** All of it as text, or why not: never more than `mostBytes`, and nothing that is no text. */
  read(actor: AssetActor, place: AssetPlace, mostBytes: number): Promise<({ ok: true } & StoredAsset) | AssetFailure>
  /** Everything under a folder; an empty prefix is all. In the order of the paths. */
  list(actor: AssetActor, prefix: string): Promise<AssetList | AssetFailure>
  stat(actor: AssetActor, place: AssetPlace): Promise<({ ok: true } & AssetEntry) | AssetFailure>
  /**
   * Makes a change as one step: what `next` was told is what is replaced. It is called for one change of a place at a
   * time. Absent where nothing can be written.
   */
  write?(actor: AssetActor, place: AssetPlace, change: AssetChange): Promise<AssetChanged | AssetFailure>
}
