import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Whose secret it is. Bound into the seal: a row that is moved to another user, tool or name does not open. */
export interface SecretName {
  userId: string
  /** `tool:weather`, `mcp:calendar`. */
  owner: string
  name: string
}

export interface VaultKey {
  /** Names the key and tells nothing of it. */
  readonly id: string
  /** Never twice the same. */
  seal(secret: SecretName, value: string): string
  /** Undefined where it was sealed with another key, for another name, or is damaged. */
  open(secret: SecretName, sealed: string): string | undefined
  /** A key of its own for each purpose: none of them leads to another, or back. */
  derive(purpose: string): Buffer
}

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

export function createVaultKey(key: Buffer): VaultKey {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', key, '', `familiar ${purpose}`, 32))
  const sealing = derive('seal')
  const id = derive('id').toString('hex').slice(0, 16)

  function boundTo({ userId, owner, name }: SecretName): Buffer {
    return Buffer.from(JSON.stringify([id, userId, owner, name]))
  }

  return {
    id,
    seal(secret, value) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, sealing, nonce, { authTagLength: tagBytes }).setAAD(boundTo(secret))
      return Buffer.concat([nonce, cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
        'base64',
      )
    },
    open(secret, sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      if (bytes.length < nonceBytes + tagBytes) return undefined
      const decipher = createDecipheriv(algorithm, sealing, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(boundTo(secret))
        .setAuthTag(bytes.subarray(-tagBytes))
      try {
        const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
        return Buffer.concat([opened, decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
    derive,
  }
}
