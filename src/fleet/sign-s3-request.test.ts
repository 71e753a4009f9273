import { expect, it } from 'vitest'
import { sha256 } from '../base/ids.ts'
import { encodeS3Path, encodeS3Query, signS3Request } from './s3.ts'

// The requests that Amazon's manual signs step by step ("Authenticating Requests: Using the Authorization Header").
const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const common = { region: 'us-east-1', credentials, now: Date.UTC(2013, 4, 24) }
const host = 'https://examplebucket.s3.amazonaws.com'
const date = 'Fri, 24 May 2013 00:00:00 GMT'

it.each([
  [
    'a file, a part of it',
    { method: 'GET', url: '/test.txt', headers: { range: 'bytes=0-9' }, body: '' },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'a file that is put',
    {
      method: 'PUT',
      url: `/${encodeS3Path('test$file.text')}`,
      headers: { Date: date, 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      body: 'Welcome to Amazon S3.',
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a question without a value',
    { method: 'GET', url: '/?lifecycle', headers: {}, body: '' },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a list',
    { method: 'GET', url: `/?${encodeS3Query({ prefix: 'J', 'max-keys': '2' })}`, headers: {}, body: '' },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])('SCALE-5 signs %s as Amazon does', async (_what, { method, url, headers, body }, signature) => {
  const bodyHash = sha256(body)
  const signed = await signS3Request({ ...common, method, url: new URL(host + url), headers, bodyHash })
  expect(signed.authorization).toContain(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request',
  )
  expect(signed.authorization?.slice(-64)).toBe(signature)
})
