import { expect } from 'vitest'
import type { Build } from '../../src/custom-tools/builder/builds.ts'
import { waitFor } from '../support/wait-for.ts'
import type { ServedFamiliar } from './http-support.ts'

/** A build that waits for a secret, and the link that was made for it. */
export interface AskedLink {
  build: Build
  questionId: string
  /** `/secret/…`, as the server is called. */
  path: string
  token: string
  minutes: number
  /** Whether it was given, once that is decided. */
  isSet: Promise<boolean>
}

export async function askBySecretLink(
  served: ServedFamiliar,
  { name = 'weather', description = 'The key for the weather service', untrusted = false } = {},
): Promise<AskedLink> {
  const { capabilities, familiar, secretLinks } = served
  const build = await capabilities.requestBuild(familiar.userId, name)
  const seen = { untrusted, private: false }
  const signal = new AbortController().signal
  const asked = { build, callId: 'call-1', secret: 'API_KEY', description, seen, signal }
  const isSet = capabilities.desk.requestSecret(asked).catch(() => false)
  const questionId = await waitFor(async () => {
    const question = (await capabilities.desk.questions(familiar.userId)).find(({ buildId }) => buildId === build.id)
    expect(question).toBeDefined()
    return question?.id ?? ''
  })
  const { url, minutes } = await secretLinks.secretLink(familiar.userId, questionId)
  const path = new URL(url).pathname
  return { build, questionId, path, token: path.replace('/secret/', ''), minutes, isSet }
}
