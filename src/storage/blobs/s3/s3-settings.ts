import type { S3Credentials } from './sign-s3-request.ts'

/** A bucket, and who may write there. Its secret is resolved: hand it to the redactor. */
export interface S3Settings extends S3Credentials {
  /** `https://s3.eu-central-1.amazonaws.com`, or the address of another server that speaks the same. */
  endpoint: string
  region: string
  bucket: string
  /** Before every key; empty, or ending with a slash. */
  prefix: string
  /** The bucket as the first step of the path, and not as part of the host's name. */
  pathStyle: boolean
}

/** Where every request for the bucket goes, without a slash at the end. */
export function bucketAddress({ endpoint, bucket, pathStyle }: Omit<S3Settings, keyof S3Credentials>): string {
  const url = new URL(endpoint)
  const base = url.pathname.replace(/\/+$/, '')
  if (pathStyle) return `${url.origin}${base}/${bucket}`
  return `${url.protocol}//${bucket}.${url.host}${base}`
}
