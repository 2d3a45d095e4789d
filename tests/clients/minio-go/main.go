// Puts files with MinIO's client for Go, with and without trailing checksums, gets them back, and prints differences.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// The minimum bytes of a part that is not the last, in S3.
const part = 5 << 20

var sizes = []int{1, part + 1}

// Options of a put.
var plain = map[string]minio.PutObjectOptions{
	"nothing": {ContentType: "text/plain"},
	"an MD5":  {ContentType: "text/plain", SendContentMd5: true},
}

// Further options of a client with trailing checksums.
var trailing = map[string]minio.PutObjectOptions{
	"CRC32 of all bytes": {ContentType: "text/plain", Checksum: minio.ChecksumFullObjectCRC32},
	"CRC64NVME":          {ContentType: "text/plain", Checksum: minio.ChecksumCRC64NVME},
	"SHA256":             {ContentType: "text/plain", Checksum: minio.ChecksumSHA256},
}

func try(client *minio.Client, bucket, key, path string, want []byte, options minio.PutObjectOptions) error {
	ctx := context.Background()
	options.PartSize = part
	if _, err := client.FPutObject(ctx, bucket, key, path, options); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	object, err := client.GetObject(ctx, bucket, key, minio.GetObjectOptions{Checksum: true})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	got, err := io.ReadAll(object)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes came back, which are not the %d that were put", len(got), len(want))
	}
	return client.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
}

func main() {
	endpoint, key, secret, bucket, folder := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	var failed sync.Map
	for _, trailers := range []bool{false, true} {
		keys := credentials.NewStaticV4(key, secret, "")
		client, err := minio.New(endpoint, &minio.Options{Creds: keys, Region: "us-east-1", TrailingHeaders: trailers})
		if err != nil {
			panic(err)
		}
		for _, size := range sizes {
			want := make([]byte, size)
			for at := range want {
				want[at] = byte(at * 31 >> 3)
			}
			path := filepath.Join(folder, fmt.Sprint(size))
			if err := os.WriteFile(path, want, 0o600); err != nil {
				panic(err)
			}
			all := map[string]minio.PutObjectOptions{}
			for name, options := range plain {
				all[name] = options
			}
			for name, options := range trailing {
				if trailers {
					all[name] = options
				}
			}
			var side sync.WaitGroup
			for name, options := range all {
				side.Go(func() {
					if err := try(client, bucket, fmt.Sprintf("%s, %d", name, size), path, want, options); err != nil {
						failed.Store(fmt.Sprintf("trailing checksums %v, %d bytes, %s", trailers, size, name), err)
					}
				})
			}
			side.Wait()
		}
	}
	code := 0
	failed.Range(func(what, err any) bool {
		fmt.Println(what, ":", err)
		code = 1
		return true
	})
	os.Exit(code)
}
