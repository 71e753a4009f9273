import type { S3Settings } from '../../storage/blobs/s3/s3-settings.ts'
import type { ConfigProblem } from './config-problem.ts'
import type { Environment } from './environment.ts'
import type { Settings } from './settings-schema.ts'
import type { TomlIndex } from './toml-index.ts'

/** Where daemons keep what they share. The keys are resolved: hand them to the redactor. */
export type SharedSettings =
  | { kind: 'directory'; directory: string }
  | { kind: 's3'; s3: S3Settings; cacheMegabytes: number }

/**
 * The `[shared]` table with its keys in place of their names; null where there is none. A key that is not set is a problem
 * and no warning: files would go to a place that no other daemon sees.
 */
export function readShared(source: {
  file: string
  index: TomlIndex
  shared: Settings['shared']
  environment: Environment
  problems: ConfigProblem[]
}): SharedSettings | null {
  const { file, index, shared, environment, problems } = source
  const { directory, s3 } = shared
  if (directory !== undefined) return { kind: 'directory', directory }
  if (!s3) return null

  function resolved(key: 'access_key_env' | 'secret_key_env' | 'session_token_env', variable: string): string {
    const value = environment.get(variable)?.value
    const line = index.lineOf(['shared', 's3', key])
    if (value === undefined) {
      problems.push({ file, line, key: `shared.s3.${key}`, message: `${variable} is not set, and the bucket needs it` })
    }
    return value ?? ''
  }

  return {
    kind: 's3',
    s3: {
      endpoint: s3.endpoint,
      region: s3.region,
      bucket: s3.bucket,
      prefix: s3.prefix === '' || s3.prefix.endsWith('/') ? s3.prefix : `${s3.prefix}/`,
      pathStyle: s3.path_style,
      accessKeyId: resolved('access_key_env', s3.access_key_env),
      secretAccessKey: resolved('secret_key_env', s3.secret_key_env),
      sessionToken:
        s3.session_token_env === undefined ? undefined : resolved('session_token_env', s3.session_token_env),
    },
    cacheMegabytes: s3.cache_megabytes,
  }
}
