import type { OneTimeLink, OneTimeLinks } from '../../../policy/one-time-links.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Database } from '../../../storage/database.ts'
import { findQuestion, toQuestion } from '../../../tools/capabilities/builds/build-question-row.ts'
import type { Capabilities } from '../../../tools/capabilities/capabilities.ts'
import { secretOwnerOf } from '../../../tools/capabilities/capability.ts'

/** A secret that a build asked for and that is not there yet. All of it may be in the words of a model. */
export interface AskedSecret {
  capability: string
  secret: string
  question: string
  /** The Builder had words of others in sight when it asked. */
  isUntrusted: boolean
}

/**
 * How a secret reaches a build from a chat: by an address of one use with a form of its own. It never stands in the chat,
 * where it would stay, and never passes a model.
 */
export interface SecretLinks {
  /** An address for this question; each call makes another. `not_found` where the user is not asked for a secret by that id. */
  secretLink(userId: string, questionId: string): Promise<{ url: string; minutes: number }>
  /** What is asked for at a link that holds; undefined where it is of no use any more. Changes nothing. */
  asked(link: OneTimeLink): Promise<AskedSecret | undefined>
  /** Uses the link up and puts the value into the vault. False where the link or the need for it is over by now. */
  give(token: string, value: string): Promise<boolean>
}

const minutes = 15

export function createSecretLinks(dependencies: {
  database: Database
  links: OneTimeLinks
  capabilities: Pick<Capabilities, 'builds' | 'catalog' | 'vault'>
  /** Where the user's browser reaches this daemon, without a slash at the end. Known only once it listens. */
  baseUrl: () => string
}): SecretLinks {
  const { database, links, baseUrl } = dependencies
  const { builds, catalog, vault } = dependencies.capabilities

  /**
   * The Builder waits for a minute and then goes on without; whoever has to fetch their phone is later than that. So a
   * question may be over, as long as the capability is being built or has declared the secret, and it is not there yet.
   */
  async function find(userId: string, questionId: string): Promise<AskedSecret | undefined> {
    const row = await findQuestion(database.read, userId, questionId)
    if (!row || row.secret === null || row.state === 'answered') return undefined
    const { name: capability, secret, question } = row
    const known = catalog.find(userId, capability)
    const isWanted =
      known?.state === 'building' || known?.permissions.secrets.some((declared) => declared.name === secret)
    if (!isWanted || (await vault.names(userId, secretOwnerOf(capability))).some(({ name }) => name === secret)) {
      return undefined
    }
    const { isUntrusted } = await toQuestion(database.read, row)
    return { capability, secret, question, isUntrusted }
  }

  async function keep({ userId, subject }: OneTimeLink, value: string): Promise<boolean> {
    const asked = await find(userId, subject)
    if (!asked) return false
    await vault.set({ userId, owner: secretOwnerOf(asked.capability), name: asked.secret }, value)
    await builds.noticeSecret(userId, asked.capability, asked.secret)
    return true
  }

  return {
    async secretLink(userId, questionId) {
      if (!(await find(userId, questionId))) {
        throw new FamiliarError('not_found', 'No build asks for a secret by that id')
      }
      const { token } = await links.make({ userId, purpose: 'secret', subject: questionId, minutes })
      return { url: `${baseUrl()}/secret/${token}`, minutes }
    },

    asked: ({ userId, subject }) => find(userId, subject),

    async give(token, value) {
      // Used up first: of two who send at once, one is too late before anything is stored.
      const link = await database.write((writer) => links.use(writer, token, 'secret'))
      if (!link) return false
      try {
        return await keep(link, value)
      } catch (cause) {
        // Whoever typed it in was not at fault, and no new link would come by itself.
        await database.write((writer) => links.giveBack(writer, link))
        throw cause
      }
    },
  }
}
