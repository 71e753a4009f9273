/** Why something was not read or written. The same words for every backend: only the path in them differs. */
export interface AssetFailure {
  ok: false
  code: AssetFailureCode
  /** A sentence for whoever asked: a model, or the user. */
  message: string
  /** With `ambiguous`: how often the text occurs. */
  count?: number
  /** With `conflict`: what is there now; null where nothing is. */
  etag?: string | null
}

export type AssetFailureCode =
  | 'invalid_path'
  | 'unknown_scheme'
  | 'outside'
  | 'not_found'
  | 'is_directory'
  | 'not_regular'
  | 'linked'
  | 'moved'
  | 'no_permission'
  | 'protected'
  | 'read_only'
  | 'binary'
  | 'too_large'
  | 'past_end'
  | 'empty_old'
  | 'absent'
  | 'ambiguous'
  | 'same'
  | 'conflict'
  | 'budget'
  | 'no_version'

export function failure(
  code: AssetFailureCode,
  message: string,
  details: Pick<AssetFailure, 'count' | 'etag'> = {},
): AssetFailure {
  return { ok: false, code, message, ...details }
}

export function notThere(path: string): AssetFailure {
  return failure('not_found', `${path} is not there.`)
}

export function tooLarge(path: string, mostBytes: number): AssetFailure {
  return failure('too_large', `${path} is too large: ${mostBytes} bytes at most are read or written as one text.`)
}
