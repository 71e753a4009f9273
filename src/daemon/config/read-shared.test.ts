import { expect, it } from 'vitest'
import { loadConfig } from './load-config.ts'

function load(toml: string, env: Record<string, string> = {}) {
  const files = {
    read: (path: string) => (path.endsWith('familiar.toml') ? toml : undefined),
    list: () => [],
    isExposed: () => false,
  }
  return loadConfig({ home: '/home/max/.familiar', env, files })
}
const problemsOf = (toml: string, env: Record<string, string> = {}) => {
  const loaded = load(toml, env)
  return loaded.ok ? [] : loaded.problems.map(({ line, key, message }) => `${line} ${key}: ${message}`)
}
const sharedOf = (toml: string, env: Record<string, string> = {}) => {
  const loaded = load(toml, env)
  return loaded.ok ? loaded.config.shared : loaded.problems
}
const bucket = '[shared.s3]\nendpoint = "https://s3.example"\nbucket = "house"\n'
const keys = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' }

it('SCALE-5 the home is the default place', () => {
  expect(sharedOf('')).toBeNull()
  expect(sharedOf('[shared]\ndirectory = "/mnt/familiar"\n')).toEqual({ kind: 'directory', directory: '/mnt/familiar' })
})

it('SCALE-5 a bucket gets its keys from the environment, under the usual names or others', () => {
  const s3 = { endpoint: 'https://s3.example', region: 'us-east-1', bucket: 'house', prefix: '', pathStyle: false }
  const resolved = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: undefined }
  expect(sharedOf(bucket, keys)).toEqual({ kind: 's3', s3: { ...s3, ...resolved }, cacheMegabytes: 1_024 })
  const more = 'prefix = "us/two"\npath_style = true\nsecret_key_env = "MINE"\nsession_token_env = "LENT"\n'
  expect(sharedOf(bucket + more, { ...keys, MINE: 'mine', LENT: 'lent' })).toMatchObject({
    s3: { prefix: 'us/two/', pathStyle: true, secretAccessKey: 'mine', sessionToken: 'lent' },
  })
})

it('SCALE-5 a missing key stops the start: nothing goes where no other daemon looks', () => {
  expect(problemsOf(`${bucket}secret_key_env = "MINE"\n`, keys)).toEqual([
    '4 shared.s3.secret_key_env: MINE is not set, and the bucket needs it',
  ])
  expect(problemsOf(bucket)).toHaveLength(2)
})

it.each([
  ['both places at once', `[shared]\ndirectory = "/mnt/x"\n${bucket}`, /cannot both be the shared place/],
  ['a path that depends on where one stands', '[shared]\ndirectory = "shared"\n', /must be an absolute path/],
  ['an address with a password', bucket.replace('://', '://me:word@'), /must not contain a user name/],
  ['a prefix that leads out', `${bucket}prefix = "a/../../x"\n`, /must be steps of letters/],
])('SCALE-5 refuses %s', (_what, toml, message) => {
  expect(problemsOf(toml, keys).join('\n')).toMatch(message)
})
