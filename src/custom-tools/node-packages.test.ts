import { afterAll, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/contract/sandbox-support.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import { silentLogger } from '../base/logger.ts'
import { createSandboxProxy } from '../security/network/sandbox-proxy.ts'
import { createNodePackages } from './node-packages.ts'

const real = openRealSandbox()
const folder = temporaryFolder()
const proxy = createSandboxProxy({ directory: folder.path, logger: silentLogger })
afterAll(async () => {
  await proxy.close()
  await real.close()
  folder.remove()
})

const packages = (npm: string | undefined) =>
  createNodePackages({
    directory: folder.path,
    sandbox: real.sandbox,
    proxy,
    npm: () => npm,
    registry: 'http://127.0.0.1:9/',
  })

it.each([
  '--registry=http://evil.example',
  'https://evil.example/x.tgz',
  '../x',
  'git+ssh://x',
  'a b',
  'x@file:/etc',
  '',
])('HANDS-5 %j is no npm package', async (name) => {
  const built = await packages('/nowhere').build(['left-pad', name], AbortSignal.timeout(10_000))
  expect(built).toMatchObject({ ok: false, problem: expect.stringContaining('only names with versions') })
})

it('HANDS-5 without npm the reason is said', async () => {
  const signal = AbortSignal.timeout(60_000)
  expect(await packages(undefined).build(['@scope/left-pad@^1.2.3'], signal)).toMatchObject({
    ok: false,
    problem: expect.stringContaining('npm is not installed on this machine'),
  })
})
