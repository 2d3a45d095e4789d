"""kill -9, clean stops and a provider that restarts: every acknowledged write survives intact."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import ClientError
from content import content
from programs import Gateway

BUCKET = "survivors"


def test_a_kill_in_the_middle_of_recovery_loses_nothing(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    objects = {f"k{number}": content(70_000, number) for number in range(12)}
    for key, data in objects.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=data)
    gateway.kill()
    for delay in (0.02, 0.1, 0.2, 0.4):
        gateway.start_without_waiting()
        time.sleep(delay)
        gateway.kill()
    gateway.start()
    for key, data in objects.items():
        assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data


def test_a_clean_stop_and_a_second_start_keep_everything(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="k", Body=content(200_000), Metadata={"kept": "yes"})
    gateway.stop()
    gateway.start()
    got = s3.get_object(Bucket=BUCKET, Key="k")
    assert got["Body"].read() == content(200_000)
    assert got["Metadata"] == {"kept": "yes"}


def test_the_provider_may_restart_while_the_gateway_runs(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client(read_timeout=120)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="before", Body=content(200_000, 1))
    gateway.untrusted.close()
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(s3.put_object, Bucket=BUCKET, Key="during", Body=content(200_000, 2))
        time.sleep(1)
        gateway.untrusted.start()
        try:
            write.result()
            during = {content(200_000, 2)}
        except ClientError as error:
            # The gateway may give up, but may not answer wrongly.
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500
            during = {content(200_000, 2), None}
    if gateway.program.process.poll() is not None:
        gateway.kill()
        gateway.start()
    assert s3.get_object(Bucket=BUCKET, Key="before")["Body"].read() == content(200_000, 1)
    try:
        found = s3.get_object(Bucket=BUCKET, Key="during")["Body"].read()
    except ClientError as error:
        assert error.response["Error"]["Code"] == "NoSuchKey"
        found = None
    assert found in during
